import { memo } from 'react';
import type { ClientColumn } from './client-columns.tsx';
import type { ClientRow } from './operations.ts';

interface GridRowProps {
  readonly id: string;
  readonly index: number;
  /** In pixels. */
  readonly top: number;
  /** `undefined` while it is read. */
  readonly client: ClientRow | undefined;
  readonly columns: readonly ClientColumn[];
  readonly isCurrent: boolean;
  readonly onChoose: (index: number) => void;
}

/** One client in the list. */
export const GridRow = memo(({ id, index, top, client, columns, isCurrent, onChoose }: GridRowProps) => (
  <tr
    id={id}
    aria-rowindex={index + 2}
    aria-selected={isCurrent}
    style={{ transform: `translateY(${top}px)` }}
    onClick={() => onChoose(index)}
  >
    {columns.map(({ key, cell, isNumber }, column) =>
      column === 0 ? (
        <th key={key} scope="row">
          {client ? cell(client) : '…'}
        </th>
      ) : (
        <td key={key} className={isNumber ? 'number' : key === 'actions' ? 'row-end' : undefined}>
          {client && cell(client)}
        </td>
      ),
    )}
  </tr>
));
