import { useEffect, useRef, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Table } from '../ui/table.tsx';
import type { Numbers } from './live-numbers.ts';
import { overviewTexts } from './overview-texts.ts';
import type { PlotData, startPlot } from './plot.ts';
import { type Format, useClock } from './units.ts';

export interface Line {
  readonly key: string;
  readonly title: string;
  readonly numberOf: (numbers: Numbers) => number | null;
}

interface ChartProps {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly samples: readonly Numbers[];
  readonly format: Format;
}

/** Lines over the last ten minutes, and the same values as a table. */
export function Chart({ title, lines, samples, format }: ChartProps) {
  const text = useTexts(overviewTexts);
  const clock = useClock();
  const area = useRef<HTMLDivElement>(null);
  const legend = useRef<HTMLParagraphElement>(null);
  const plot = useRef<ReturnType<typeof startPlot> | null>(null);
  const [hasTable, setHasTable] = useState(false);
  /** The sample that the pointer is at. */
  const [point, setPoint] = useState<number | null>(null);
  const data: PlotData = [
    samples.map(({ asOf }) => Date.parse(asOf) / 1_000),
    ...lines.map(({ numberOf }) => samples.map(numberOf)),
  ];
  const latest = useRef(data);
  latest.current = data;
  const current = samples[point ?? samples.length - 1];
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
        timeText: clock,
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
  const columns: Column<Numbers>[] = [
    { key: 'time', title: text('time'), cell: ({ asOf }) => clock(asOf), value: ({ asOf }) => asOf },
    ...lines.map(({ key, title: heading, numberOf }) => ({
      key,
      title: heading,
      isNumber: true,
      cell: (sample: Numbers) => show(numberOf(sample)),
      value: numberOf,
    })),
  ];
  return (
    <figure className="chart">
      <figcaption>
        {title} {point !== null && current && <small>{clock(current.asOf)}</small>}
      </figcaption>
      <p className="legend" ref={legend}>
        {lines.map(({ key, title: line, numberOf }) => (
          <span key={key}>
            {line} <strong>{show(current ? numberOf(current) : null)}</strong>
          </span>
        ))}
      </p>
      <div className="plot" ref={area} role="img" aria-label={text('chartOf', { title })} />
      <details onToggle={({ currentTarget }) => setHasTable(currentTarget.open)}>
        <summary>{text('asTable', { title })}</summary>
        {hasTable && <Table label={title} columns={columns} rows={samples.toReversed()} keyOf={({ asOf }) => asOf} />}
      </details>
    </figure>
  );
}
