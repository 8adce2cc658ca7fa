import type { ReactNode } from 'react';
import type { Format } from '../charts/line.ts';
import { useNumbers, useTexts, useTimes } from '../texts/texts.ts';
import { chartsTexts } from './texts.ts';
import type { Top } from './traffic.ts';

interface TopListProps {
  readonly title: string;
  readonly top: Top;
  readonly isBytes: boolean;
  readonly bytesText: Format;
  readonly nameOf: (name: string) => ReactNode;
}

/** The entries with their share of all traffic, since when they are counted, and whether any may be missing. */
export function TopList({ title, top, isBytes, bytesText, nameOf }: TopListProps) {
  const text = useTexts(chartsTexts);
  const numberText = useNumbers();
  const timeOf = useTimes();
  const format = isBytes ? bytesText : numberText;
  const { entries, total, from, to, isComplete, maxError } = top;
  const largest = entries[0]?.count ?? 0;
  return (
    <section className="card chart top" aria-label={title}>
      <h3>{title}</h3>
      <p className="quiet">{text('counted', { from: timeOf(from), to: timeOf(to), total: format(total) })}</p>
      {entries.length === 0 && <p>{text('noTraffic')}</p>}
      <ol>
        {entries.map(({ name, count, perSecond }) => (
          <li key={name}>
            <span className="part" style={{ inlineSize: `${(100 * count) / Math.max(1, largest)}%` }} />
            <span className="name">{nameOf(name)}</span>
            <span className="number">
              {format(count)} <small>{text('perSecond', { rate: format(perSecond) })}</small>
            </span>
            <span className="number share">{total > 0 && `${numberText((100 * count) / total)} %`}</span>
          </li>
        ))}
      </ol>
      <p className="quiet">{isComplete ? text('exact') : text('inexact', { error: format(maxError) })}</p>
    </section>
  );
}
