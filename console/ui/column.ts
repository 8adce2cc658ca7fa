import type { ReactNode } from 'react';

export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  /** What the head shows instead of the title. */
  readonly head?: ReactNode;
  /** What the row shows. */
  readonly cell: (row: Row) => ReactNode;
  /** What the CSV file contains. Default: `cell`, if it is text or a number. */
  readonly value?: (row: Row) => string | number | boolean | null | undefined;
  readonly isNumber?: boolean;
  /** Whether it stands before the column that names the row. */
  readonly isLeading?: boolean;
  /** Whether only the CSV file has the column. */
  readonly isHidden?: boolean;
  /** Sorts the list when its title is clicked. `direction`: how it does now; `null`: it does not. */
  readonly sort?: { readonly direction: 'ASC' | 'DESC' | null; readonly onSort: () => void } | undefined;
}
