import { useTexts } from '../texts/texts.ts';

interface NotAllProps {
  readonly shown: number;
  readonly total: number;
}

/** Below a choice that is read without pages: whether there are more entries. */
export function NotAll({ shown, total }: NotAllProps) {
  const text = useTexts();
  return total > shown && <p className="note">{text('notAll', { shown, total })}</p>;
}
