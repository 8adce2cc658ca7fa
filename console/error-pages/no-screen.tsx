import { Link } from 'wouter';
import { useTexts } from '../texts/texts.ts';
import { failureTexts } from './texts.ts';

/** An address that no screen has. */
export function NoScreen() {
  const text = useTexts(failureTexts);
  return (
    <>
      <h1>{text('noScreen')}</h1>
      <p>
        <Link href="/">{text('fleet')}</Link>
      </p>
    </>
  );
}
