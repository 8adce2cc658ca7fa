import { useNumbers, useTexts } from '../texts/texts.ts';
import { clientsTexts } from './texts.ts';

interface NamesProps {
  readonly title: string;
  readonly names: readonly string[];
  /** Number of all; only the first ones have their names here. */
  readonly total: number;
}

/** Client ids that an action concerns. */
export function Names({ title, names, total }: NamesProps) {
  const text = useTexts(clientsTexts);
  const numberText = useNumbers();
  return (
    <details open={names.length <= 20}>
      <summary>{title}</summary>
      <ul className="clients-names">
        {names.map((name) => (
          <li key={name}>{name}</li>
        ))}
        {total > names.length && <li>{text('andMore', { count: numberText(total - names.length) })}</li>}
      </ul>
    </details>
  );
}
