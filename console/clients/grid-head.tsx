import type { ClientColumn } from './client-columns.tsx';
import type { Order } from './selection.ts';

interface GridHeadProps {
  readonly columns: readonly ClientColumn[];
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
}

/** The titles of the columns, of which some sort the list. */
export function GridHead({ columns, order, onOrder }: GridHeadProps) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        {columns.map(({ key, title, isNumber, sortField }) => {
          const isSorted = sortField === order.field;
          const isAscending = order.order === 'ASC';
          const next = isSorted && isAscending ? 'DESC' : 'ASC';
          return (
            <th
              key={key}
              scope="col"
              className={isNumber ? 'number' : undefined}
              aria-sort={isSorted ? (isAscending ? 'ascending' : 'descending') : undefined}
            >
              {sortField ? (
                <button type="button" onClick={() => onOrder({ field: sortField, order: next })}>
                  {title}
                  <span aria-hidden="true">{isSorted ? (isAscending ? ' ▲' : ' ▼') : ''}</span>
                </button>
              ) : (
                title
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}
