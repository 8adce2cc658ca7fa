import { LayoutGrid, Rows3 } from 'lucide-react';
import { Link } from 'wouter';
import { useTexts } from '../texts/texts.ts';
import { FilterBar } from '../ui/filter-bar.tsx';
import { SHOWN, SORT_FIELDS, useFleetView } from './fleet-view.ts';
import { fleetTexts } from './texts.ts';

/** Which brokers are shown, in which order and how. All of it is in the address. */
export function Toolbar() {
  const text = useTexts(fleetTexts);
  const { view, pageKeys, linkTo, sortBy } = useFleetView();
  const actions = (
    <>
      {view.isTiles && (
        <label className="select">
          <span>{text('sort')}</span>
          <select
            value={view.orderBy.field}
            onChange={({ currentTarget: { value } }) => sortBy(SORT_FIELDS.find((one) => one === value) ?? 'PROBLEMS')}
          >
            {SORT_FIELDS.map((field) => (
              <option key={field} value={field}>
                {text(`by_${field}`)}
              </option>
            ))}
          </select>
        </label>
      )}
      <nav className="choices" aria-label={text('viewAs')}>
        <Link href={linkTo({ view: '' })} aria-current={view.isTiles ? undefined : 'true'}>
          <Rows3 aria-hidden="true" /> {text('table')}
        </Link>
        <Link href={linkTo({ view: 'tiles' })} aria-current={view.isTiles ? 'true' : undefined}>
          <LayoutGrid aria-hidden="true" /> {text('tiles')}
        </Link>
      </nav>
    </>
  );
  return (
    <FilterBar
      keys={['name', 'show']}
      resets={pageKeys}
      search={{ name: 'name', label: text('filterBrokers') }}
      actions={actions}
    >
      <nav className="choices" aria-label={text('whichBrokers')}>
        {SHOWN.map((show) => (
          <Link
            key={show}
            href={linkTo({ show: show === 'all' ? '' : show })}
            aria-current={view.show === show ? 'true' : undefined}
          >
            {text(`show_${show}`)}
          </Link>
        ))}
      </nav>
    </FilterBar>
  );
}
