import { type ReactNode, useEffect, useRef } from 'react';
import { useTexts } from '../texts/texts.ts';
import type { Column } from './column.ts';
import { saveCsv } from './csv.ts';
import { ariaSortOf, SortButton } from './sort-button.tsx';
import './table.css';
import { TableOptions, useTableView } from './table-view.tsx';

interface TableProps<Row> {
  /** For screen readers, and the name of the CSV file. */
  readonly label: string;
  /** The first column without `isLeading` names the row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** What can be done with chosen rows; shown over the titles. */
  readonly selection?: ReactNode;
  /** Rows with the same title, one after the other, have a heading. Default: no headings. */
  readonly groupOf?: (row: Row) => string;
  /** Name of the list, if its columns can be chosen: the choice is stored under it. */
  readonly name?: string;
  readonly isStale?: boolean;
  /** Whether the rows can be saved as a CSV file. Default: true. */
  readonly hasCsv?: boolean;
}

/** A table of at most some hundred rows. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, keyOf, selection, groupOf, name, isStale = false, hasCsv = true } = props;
  const text = useTexts();
  const [view, setView] = useTableView(name);
  const possible = columns.filter(({ isHidden }) => !isHidden);
  const namingKey = possible.find(({ isLeading }) => !isLeading)?.key;
  const choices = possible.filter(({ key, isLeading }) => !isLeading && key !== namingKey && key !== 'actions');
  const shown = possible.filter((column) => !choices.includes(column) || !view.hidden.includes(column.key));
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
        <table className={[isStale && 'stale', view.isCompact && 'compact'].filter(Boolean).join(' ')}>
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
          {groupsOf(rows, groupOf).map((group) => (
            <tbody key={group.title}>
              {group.title !== '' && (
                <tr className="group">
                  <th colSpan={shown.length} scope="rowgroup">
                    {group.title}
                  </th>
                </tr>
              )}
              {group.rows.map((row) => (
                <tr key={keyOf(row)}>
                  {shown.map(({ key, cell, isNumber }) =>
                    key === namingKey ? (
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
          ))}
        </table>
      </section>
      {rows.length > 0 && (hasCsv || setView !== null) && (
        <div className="table-tools">
          {setView !== null && <TableOptions columns={choices} view={view} onView={setView} />}
          {hasCsv && (
            <button type="button" className="ghost" onClick={() => saveCsv(label, columns, rows)}>
              {text('csv')}
            </button>
          )}
        </div>
      )}
    </>
  );
}

/** Rows under their headings; without headings all under an empty one. */
function groupsOf<Row>(rows: readonly Row[], groupOf: ((row: Row) => string) | undefined) {
  const groups: { readonly title: string; readonly rows: Row[] }[] = [];
  for (const row of rows) {
    const title = groupOf?.(row) ?? '';
    const last = groups.at(-1);
    if (last?.title === title) last.rows.push(row);
    else groups.push({ title, rows: [row] });
  }
  return groups;
}
