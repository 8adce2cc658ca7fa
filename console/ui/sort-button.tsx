import { ArrowDown, ArrowUp } from 'lucide-react';

interface SortButtonProps {
  readonly title: string;
  /** How the list is sorted by this column. `null`: it is not. */
  readonly direction: 'ASC' | 'DESC' | null;
  readonly onSort: () => void;
}

/** The title of a column that sorts the list. */
export function SortButton({ title, direction, onSort }: SortButtonProps) {
  return (
    <button type="button" className="sort" onClick={onSort}>
      {title}
      {direction === 'ASC' && <ArrowUp aria-hidden="true" />}
      {direction === 'DESC' && <ArrowDown aria-hidden="true" />}
    </button>
  );
}

/** For screen readers, at the heading of the column. */
export const ariaSortOf = (direction: SortButtonProps['direction']): 'ascending' | 'descending' | undefined =>
  direction === null ? undefined : direction === 'ASC' ? 'ascending' : 'descending';
