import { useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Table } from '../ui/table.tsx';
import { isNumber, type Line } from './line.ts';
import type { Steps, Values } from './path.ts';
import { chartTexts } from './texts.ts';
import { useTimeTexts } from './time-texts.ts';

interface ChartTableProps {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly steps: Steps;
  readonly show: (value: number | null | undefined) => string;
}

/** The values of a chart on demand, the newest first. Rows are positions in the steps. */
export function ChartTable({ title, lines, steps, show }: ChartTableProps) {
  const text = useTexts(chartTexts);
  const times = useTimeTexts();
  const [isOpen, setOpen] = useState(false);
  const timeOf = (nth: number) => steps.from + nth * steps.stepMs;
  const column = (key: string, heading: string, values: Values): Column<number> => ({
    key,
    title: heading,
    isNumber: true,
    cell: (nth) => show(values[nth]),
    value: (nth) => values[nth] ?? null,
  });
  const columns: Column<number>[] = [
    {
      key: 'time',
      title: text('time'),
      cell: (nth) => times.moment(timeOf(nth), steps.stepMs),
      value: (nth) => new Date(timeOf(nth)).toISOString(),
    },
    ...lines.flatMap(({ key, title: name, mean, min, max }) => [
      column(key, name, mean),
      column(`${key}-min`, text('minOf', { name }), min),
      column(`${key}-max`, text('maxOf', { name }), max),
    ]),
  ];
  const rows = Array.from({ length: steps.count }, (_, nth) => nth).filter((nth) =>
    lines.some(({ mean }) => isNumber(mean[nth])),
  );
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{text('asTable', { title })}</summary>
      {isOpen && (
        <Table label={title} columns={columns} rows={rows.toReversed()} keyOf={(nth) => String(timeOf(nth))} />
      )}
    </details>
  );
}
