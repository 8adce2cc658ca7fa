import { useTexts } from '../texts/texts.ts';

interface RestoredProps {
  readonly draft: { readonly isRestored: boolean; readonly startOver: () => void };
}

/** That a form begins with what was typed earlier, and how to start over. Nothing otherwise. */
export function Restored({ draft: { isRestored, startOver } }: RestoredProps) {
  const text = useTexts();
  if (!isRestored) return null;
  return (
    <p className="note" role="status">
      {text('restored')}{' '}
      <button type="button" className="link" onClick={startOver}>
        {text('startOver')}
      </button>
    </p>
  );
}
