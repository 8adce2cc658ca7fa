import { useNumbers, useTexts } from '../texts/texts.ts';
import { clientsTexts } from './texts.ts';

/** Number of names that a dialog shows. */
export const MAX_NAMES = 10;

interface NamesProps {
  readonly title: string;
  /** At least the first `MAX_NAMES`, if there are so many. */
  readonly names: readonly string[];
  /** Number of all. */
  readonly total: number;
}

/** Client ids that an action concerns. */
export function Names({ title, names, total }: NamesProps) {
  const text = useTexts(clientsTexts);
  const numberText = useNumbers();
  const shown = names.slice(0, MAX_NAMES);
  return (
    <>
      <h3>{title}</h3>
      <ul className="clients-names">
        {shown.map((name) => (
          <li key={name}>{name}</li>
        ))}
        {total > shown.length && <li>{text('andMore', { count: numberText(total - shown.length) })}</li>}
      </ul>
    </>
  );
}
