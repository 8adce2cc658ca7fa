import type { Column } from './column.ts';

/** Saves rows as a CSV file (RFC 4180) with a line of titles. */
export function saveCsv<Row>(name: string, columns: readonly Column<Row>[], rows: readonly Row[]): void {
  const lines = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map((column) => valueIn(column, row))),
  ];
  const text = lines.map((fields) => `${fields.map(field).join(',')}\r\n`).join('');
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  link.download = `${name}.csv`;
  link.click();
  URL.revokeObjectURL(link.href);
}

function valueIn<Row>({ value, cell }: Column<Row>, row: Row): string {
  const found = value ? value(row) : cell(row);
  return typeof found === 'object' ? '' : String(found ?? '');
}

/** Spreadsheets run a field that begins with one of these characters, and devices choose their names. */
const FORMULA = /^[=+\-@\t\r]/;

function field(text: string): string {
  const safe = FORMULA.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
