import type { RefusedError } from '../graph/refused.ts';
import { useTexts } from '../texts/texts.ts';

/** Shows that data is loading, or why it cannot be shown. */
export function Problem({ error }: { readonly error: RefusedError | null }) {
  const text = useTexts();
  if (error === null) return <p aria-busy="true">{text('loading')}</p>;
  return <p role="alert">{error.code === 'UNREACHABLE' ? text('unreachable') : error.message}</p>;
}
