import { useEffect, useRef, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Table } from '../ui/table.tsx';
import { overviewTexts } from './overview-texts.ts';
import type { PlotData, startPlot } from './plot.ts';
import { type Format, useClock } from './units.ts';

export interface Line {
  readonly key: string;
  readonly title: string;
  /** One per time; `null`: unknown. */
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  readonly title: string;
  readonly lines: readonly Line[];
  /** Epoch milliseconds, the oldest first. */
  readonly times: readonly number[];
  /** The shown time, in words. */
  readonly range: string;
  /** Whether times need their date. */
  readonly hasDays: boolean;
  readonly format: Format;
}

/** Lines over time, and the same values as a table. */
export function Chart({ title, lines, times, range, hasDays, format }: ChartProps) {
  const text = useTexts(overviewTexts);
  const clock = useClock(hasDays);
  const latestClock = useRef(clock);
  latestClock.current = clock;
  const area = useRef<HTMLDivElement>(null);
  const legend = useRef<HTMLParagraphElement>(null);
  const plot = useRef<ReturnType<typeof startPlot> | null>(null);
  const [hasTable, setHasTable] = useState(false);
  /** The time that the pointer is at. */
  const [point, setPoint] = useState<number | null>(null);
  const data: PlotData = [times.map((time) => time / 1_000), ...lines.map(({ values }) => [...values])];
  const latest = useRef(data);
  latest.current = data;
  const isKnown = (nth: number) => lines.some(({ values }) => values[nth] != null);
  const current = point ?? times.findLastIndex((_time, nth) => isKnown(nth));
  useEffect(() => {
    let isWanted = true;
    const start = async () => {
      const { startPlot } = await import('./plot.ts');
      const element = area.current;
      if (!isWanted || element === null) return;
      const colourOf = (item: Element) => getComputedStyle(item).color;
      plot.current = startPlot(element, latest.current, {
        colours: () => [...(legend.current?.children ?? [])].map(colourOf),
        textColour: () => colourOf(element),
        timeText: (time) => latestClock.current(time),
        numberText: format,
        onPoint: setPoint,
      });
    };
    void start();
    return () => {
      isWanted = false;
      plot.current?.close();
      plot.current = null;
    };
  }, []);
  useEffect(() => plot.current?.update(latest.current));
  const show = (value: number | null) => (value === null ? '–' : format(value));
  /** Rows are positions in `times`. */
  const columns: Column<number>[] = [
    {
      key: 'time',
      title: text('time'),
      cell: (nth) => clock(times[nth] ?? 0),
      value: (nth) => new Date(times[nth] ?? 0).toISOString(),
    },
    ...lines.map(({ key, title: heading, values }) => ({
      key,
      title: heading,
      isNumber: true,
      cell: (nth: number) => show(values[nth] ?? null),
      value: (nth: number) => values[nth] ?? null,
    })),
  ];
  const rows = times.flatMap((_time, nth) => (isKnown(nth) ? [nth] : [])).toReversed();
  return (
    <figure className="chart">
      <figcaption>
        {title} {point !== null && <small>{clock(times[point] ?? 0)}</small>}
      </figcaption>
      <p className="legend" ref={legend}>
        {lines.map(({ key, title: line, values }) => (
          <span key={key}>
            {line} <strong>{show(values[current] ?? null)}</strong>
          </span>
        ))}
      </p>
      <div className="plot" ref={area} role="img" aria-label={text('chartOf', { title, range })} />
      <details onToggle={({ currentTarget }) => setHasTable(currentTarget.open)}>
        <summary>{text('asTable', { title })}</summary>
        {hasTable && <Table label={title} columns={columns} rows={rows} keyOf={(nth) => String(times[nth])} />}
      </details>
    </figure>
  );
}
