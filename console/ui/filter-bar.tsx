import { SlidersHorizontal, X } from 'lucide-react';
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { useAddressValues } from './address-values.ts';
import { filterTexts } from './filter-texts.ts';
import { TimeRange } from './time-range.tsx';
import './filter-bar.css';

type Changes = Readonly<Record<string, string>>;

interface Filter {
  readonly values: URLSearchParams;
  /** `PUSH`: "back" returns to the filter before. */
  readonly change: (changes: Changes, how?: 'REPLACE' | 'PUSH') => void;
}

const FilterContext = createContext<Filter | null>(null);

function useFilter(): Filter {
  const filter = useContext(FilterContext);
  if (filter === null) throw new Error('Only parts of a filter bar have it');
  return filter;
}

interface FilterBarProps {
  /** Names of the values of the address that select rows. */
  readonly keys: readonly string[];
  /** Names of the values that are no longer valid after a change, such as the page. */
  readonly resets?: readonly string[];
  readonly search?: FilterTextProps | undefined;
  /** Selects, chips and times. */
  readonly children?: ReactNode;
  /** Seldom used ones, which are shown on demand, and if one of them is in use. */
  readonly more?: { readonly keys: readonly string[]; readonly fields: ReactNode };
  /** How the list is shown, and what else can be done with it; at the end. */
  readonly actions?: ReactNode;
}

/** What selects the rows of a list: a search field, then other conditions. All are in the address and apply at once. */
export function FilterBar({ keys, resets = [], search, children, more, actions }: FilterBarProps) {
  const text = useTexts(filterTexts);
  const { values, set } = useAddressValues();
  const without = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, '']));
  const change: Filter['change'] = (changes, how) => set({ ...without(resets), ...changes }, how);
  const count = more?.keys.filter((key) => values.get(key)).length ?? 0;
  const [isOpen, setOpen] = useState(count > 0);
  return (
    <FilterContext.Provider value={{ values, change }}>
      <search className="bar filter">
        {search && <FilterText {...search} />}
        {children}
        {more && (
          <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            <SlidersHorizontal aria-hidden="true" /> {text(count > 0 ? 'moreInUse' : 'more', { count })}
          </button>
        )}
        {isOpen && more?.fields}
        {keys.some((key) => values.get(key)) && (
          <button type="button" className="ghost" onClick={() => change(without(keys), 'PUSH')}>
            <X aria-hidden="true" /> {text('clear')}
          </button>
        )}
        {actions && <span className="buttons">{actions}</span>}
      </search>
    </FilterContext.Provider>
  );
}

interface FilterTextProps {
  /** Of the value in the address. */
  readonly name: string;
  readonly label: string;
  /** What can be typed. */
  readonly title?: string;
  /** Id of a list of suggestions. */
  readonly list?: string;
  readonly isNumber?: boolean;
}

/** How long the list waits for the next key, in milliseconds. */
const TYPING_MS = 100;

export function FilterText({ name, label, title, list, isNumber = false }: FilterTextProps) {
  const { values, change } = useFilter();
  const value = values.get(name) ?? '';
  const [typed, setTyped] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <input
      type={isNumber ? 'number' : 'search'}
      min={isNumber ? 1 : undefined}
      aria-label={label}
      placeholder={label}
      title={title}
      list={list}
      autoComplete="off"
      spellCheck={false}
      // Wide enough for the placeholder.
      style={{ width: `max(10rem, ${label.length * 0.55 + 2}rem)` }}
      value={typed}
      onInput={({ currentTarget: { value: next } }) => {
        setTyped(next);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => change({ [name]: next }), TYPING_MS);
      }}
    />
  );
}

interface FilterSelectProps {
  readonly name: string;
  readonly label: string;
  /** Text of the choice without a condition. Default: the first option is chosen. */
  readonly any?: string;
  readonly options: readonly (readonly [value: string, title: string])[];
  /** Further options. */
  readonly children?: ReactNode;
}

export function FilterSelect({ name, label, any, options, children }: FilterSelectProps) {
  const { values, change } = useFilter();
  const first = any === undefined ? (options[0]?.[0] ?? '') : '';
  const value = values.get(name) || first;
  return (
    <label className={value === first ? 'select' : 'select chosen'}>
      <span>{label}</span>
      <select
        value={value}
        onChange={({ currentTarget }) =>
          change({ [name]: currentTarget.value === first ? '' : currentTarget.value }, 'PUSH')
        }
      >
        {any !== undefined && <option value="">{any}</option>}
        {options.map(([key, title]) => (
          <option key={key} value={key}>
            {title}
          </option>
        ))}
        {children}
      </select>
    </label>
  );
}

/** `from` and `to` of the address. `also`: what a time changes as well. */
export function FilterTime({ also }: { readonly also?: Changes }) {
  const { values, change } = useFilter();
  return (
    <TimeRange
      from={values.get('from') ?? ''}
      to={values.get('to') ?? ''}
      onRange={({ from, to }) => change({ ...also, from, to }, 'PUSH')}
    />
  );
}
