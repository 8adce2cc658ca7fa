import type { ReactNode } from 'react';
import type { Format } from './line.ts';
import type { Values } from './path.ts';
import { Sparkline } from './sparkline.tsx';
import './figures.css';

interface Figure {
  readonly key: string;
  readonly title: string;
  readonly value: ReactNode;
  /** Below the value. */
  readonly more?: ReactNode;
  /** Shown when the value is pointed at. */
  readonly hint?: string | undefined;
  /** Its values in the last hour, the oldest first. Default: none. */
  readonly hour?: Values | undefined;
}

interface FiguresProps {
  readonly figures: readonly Figure[];
  readonly format: Format;
  readonly isStale?: boolean;
}

/** Numbers of one thing in a row, or in a few rows on a narrow display, with how they were in the last hour. */
export function Figures({ figures, format, isStale = false }: FiguresProps) {
  return (
    <dl className={isStale ? 'figures card stale' : 'figures card'}>
      {figures.map(({ key, title, value, more, hint, hour }) => (
        <div key={key}>
          <dt title={title}>{title}</dt>
          <dd title={hint}>
            <strong>{value}</strong>
            {hour && <Sparkline title={title} values={hour} format={format} />}
            <small>{more}</small>
          </dd>
        </div>
      ))}
    </dl>
  );
}
