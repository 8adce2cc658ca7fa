import { SlidersHorizontal } from 'lucide-react';
import { useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import type { Column } from './column.ts';
import { Menu } from './menu.tsx';
import { storedJson } from './stored-json.ts';
import { tableTexts } from './table-texts.ts';
import { useStored } from './view-store.ts';

/** How a person sees a list: all tables of its name. */
interface TableView {
  /** Keys of columns that are not shown. */
  readonly hidden: readonly string[];
  readonly isCompact: boolean;
}

const DEFAULT: TableView = { hidden: [], isCompact: false };

/** `name`: of the list. `null`: it has no choices. */
export function useTableView(name: string | undefined): readonly [TableView, ((view: TableView) => void) | null] {
  const [stored, write] = useStored(name);
  if (write === null) return [DEFAULT, null];
  return [{ ...DEFAULT, ...storedJson<TableView>(stored) }, (view) => write(JSON.stringify(view))];
}

interface TableOptionsProps {
  /** Those that may be hidden. */
  readonly columns: readonly Pick<Column<never>, 'key' | 'title'>[];
  readonly view: TableView;
  readonly onView: (view: TableView) => void;
}

/** The choice of the columns of a list and of the height of its rows. */
export function TableOptions({ columns, view, onView }: TableOptionsProps) {
  const text = useTexts(tableTexts);
  const { hidden, isCompact } = view;
  // Until it is open, no field has the name of a column.
  const [isOpen, setOpen] = useState(false);
  const without = (key: string) => hidden.filter((one) => one !== key);
  return (
    <Menu
      className="ghost"
      button={
        <>
          <SlidersHorizontal aria-hidden="true" /> {text('view')}
        </>
      }
      onOpen={() => setOpen(true)}
    >
      {isOpen && (
        <>
          <fieldset className="view">
            <legend>{text('columns')}</legend>
            {columns.map(({ key, title }) => (
              <label key={key}>
                <input
                  type="checkbox"
                  checked={!hidden.includes(key)}
                  onChange={({ currentTarget: { checked } }) =>
                    onView({ ...view, hidden: checked ? without(key) : [...without(key), key] })
                  }
                />{' '}
                {title}
              </label>
            ))}
          </fieldset>
          <label className="view">
            <input
              type="checkbox"
              checked={isCompact}
              onChange={({ currentTarget: { checked } }) => onView({ ...view, isCompact: checked })}
            />{' '}
            {text('compact')}
          </label>
        </>
      )}
    </Menu>
  );
}
