import { Link } from 'wouter';
import { useTexts } from '../texts/texts.ts';
import { PageHeading } from '../ui/page-heading.tsx';
import { failureTexts } from './texts.ts';

export function NoScreen() {
  const text = useTexts(failureTexts);
  return (
    <>
      <PageHeading>{text('noScreen')}</PageHeading>
      <p>
        <Link href="/">{text('fleet')}</Link>
      </p>
    </>
  );
}
