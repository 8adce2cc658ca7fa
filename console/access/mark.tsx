import { useTexts } from '../texts/texts.ts';
import { accessTexts } from './texts.ts';

const SIGNS = { added: '+', removed: '−', changed: '~' } as const;

/** Whether a line of a difference is new, gone or changed: a sign, and a word for screen readers. */
export function Mark({ kind }: { readonly kind: keyof typeof SIGNS }) {
  const text = useTexts(accessTexts);
  return (
    <>
      <span aria-hidden="true">{SIGNS[kind]}</span>
      <span className="hidden">{text(kind)}</span>
    </>
  );
}
