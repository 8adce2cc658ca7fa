import { type ReactNode, useEffect, useRef } from 'react';
import { useTexts } from '../texts/texts.ts';
import type { Column } from './column.ts';
import { saveCsv } from './csv.ts';
import { ariaSortOf, SortButton } from './sort-button.tsx';
import './table.css';

interface TableProps<Row> {
  /** For screen readers, and the name of the CSV file. */
  readonly label: string;
  /** The first column without `isLeading` names the row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** What can be done with chosen rows; shown over the titles. */
  readonly selection?: ReactNode;
  readonly isStale?: boolean;
  /** Whether the rows can be saved as a CSV file. Default: true. */
  readonly hasCsv?: boolean;
}

/** A table of at most some hundred rows. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, keyOf, selection, isStale = false, hasCsv = true } = props;
  const text = useTexts();
  const shown = columns.filter(({ isHidden }) => !isHidden);
  const naming = shown.findIndex(({ isLeading }) => !isLeading);
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    const section = place.current;
    const table = section?.querySelector('table');
    if (!section || !table) return;
    const sizes = new ResizeObserver(() => section.classList.toggle('fits', table.offsetWidth <= section.clientWidth));
    sizes.observe(section);
    sizes.observe(table);
    return () => sizes.disconnect();
  }, []);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it (WCAG 2.1.1) */}
      <section ref={place} className="wide" tabIndex={0} aria-label={label}>
        {selection && (
          <div className="selection">
            <div>{selection}</div>
          </div>
        )}
        <table className={isStale ? 'stale' : ''}>
          <caption className="hidden">{label}</caption>
          <thead>
            <tr>
              {shown.map(({ key, title, head, isNumber, sort }) => (
                <th
                  key={key}
                  scope="col"
                  className={isNumber ? 'number' : undefined}
                  aria-sort={sort && ariaSortOf(sort.direction)}
                >
                  {head ?? (sort ? <SortButton title={title} {...sort} /> : title)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={keyOf(row)}>
                {shown.map(({ key, cell, isNumber }, index) =>
                  index === naming ? (
                    <th key={key} scope="row">
                      {cell(row)}
                    </th>
                  ) : (
                    <td key={key} className={isNumber ? 'number' : undefined}>
                      {cell(row)}
                    </td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {hasCsv && rows.length > 0 && (
        <button type="button" className="csv" onClick={() => saveCsv(label, columns, rows)}>
          {text('csv')}
        </button>
      )}
    </>
  );
}
