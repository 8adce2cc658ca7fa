import type { Column } from './column.ts';

/** Saves rows as a CSV file (RFC 4180) with a line of titles. */
export function saveCsv<Row>(name: string, columns: readonly Column<Row>[], rows: readonly Row[]): void {
  saveFile(`${name}.csv`, 'text/csv', [csvLines(columns, rows, true)]);
}

/** Lines of a CSV file, with titles in the first one if `hasTitles`. Actions are no values. */
export function csvLines<Row>(all: readonly Column<Row>[], rows: readonly Row[], hasTitles = false): string {
  const columns = all.filter(({ key }) => key !== 'actions');
  const lines = rows.map((row) => columns.map((column) => valueIn(column, row)));
  if (hasTitles) lines.unshift(columns.map(({ title }) => title));
  return lines.map((fields) => `${fields.map(field).join(',')}\r\n`).join('');
}

/** Saves a file whose content is the parts one after the other. */
export function saveFile(name: string, type: string, parts: readonly string[]): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([...parts], { type }));
  link.download = name;
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
