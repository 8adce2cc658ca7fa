import { ariaSortOf, SortButton } from '../ui/sort-button.tsx';
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
          const direction = sortField === order.field ? order.order : null;
          const next = direction === 'ASC' ? 'DESC' : 'ASC';
          return (
            <th
              key={key}
              scope="col"
              className={isNumber ? 'number' : key === 'actions' ? 'row-end' : undefined}
              aria-sort={ariaSortOf(direction)}
            >
              {sortField ? (
                <SortButton
                  title={title}
                  direction={direction}
                  onSort={() => onOrder({ field: sortField, order: next })}
                />
              ) : (
                <span className={key === 'actions' ? 'hidden' : undefined}>{title}</span>
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}
