import { useTexts } from '../texts/texts.ts';
import type { Scope } from './scope-fields.tsx';
import { scopeTexts } from './scope-texts.ts';
import { titleTexts } from './title-texts.ts';

/** Programs silence single objects as well. */
interface WithSubjects {
  readonly subjectIds?: readonly string[];
}

type Brokers = readonly { readonly id: string; readonly name: string }[];

/** Which problems a silence or a channel is about, in words. `brokers`: those of the project. */
export function useScopeWords(brokers: Brokers | null): (scope: Scope & WithSubjects) => string {
  const text = useTexts(scopeTexts);
  const titleOf = useTexts(titleTexts);
  const nameOf = (id: string) =>
    brokers === null ? id : (brokers.find((broker) => broker.id === id)?.name ?? text('deletedBroker'));
  return ({ brokerIds, kinds, severities, subjectIds = [] }) => {
    const parts = [
      brokerIds.map(nameOf).join(', '),
      subjectIds.length > 0 ? text('subjects', { count: subjectIds.length }) : '',
      severities.map((severity) => text(severity)).join(', '),
      kinds.map((kind) => titleOf(kind)).join(', '),
    ];
    return parts.filter((part) => part !== '').join(' · ') || text('everything');
  };
}
