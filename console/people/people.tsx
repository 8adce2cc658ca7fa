import { useParams } from 'wouter';
import { useViewer } from '../session/viewer.ts';
import { useTexts } from '../texts/texts.ts';
import { PeopleList } from './people-list.tsx';
import { Person } from './person.tsx';
import { peopleTexts } from './texts.ts';
import './style.css';

/** The accounts of people, for root administrators. */
export function People() {
  const text = useTexts(peopleTexts);
  const { isRootAdmin } = useViewer();
  const { user } = useParams<{ user?: string }>();
  if (!isRootAdmin) return <p role="alert">{text('forRootAdministrators')}</p>;
  return user === undefined ? <PeopleList /> : <Person key={user} id={user} />;
}
