import type { FormEvent, ReactNode } from 'react';
import { Link } from 'wouter';
import { useTexts } from '../texts/texts.ts';
import { Field } from './field.tsx';
import { filterTexts } from './filter-texts.ts';
import { minuteOf, timeOfInput } from './local-time.ts';
import { RangeChoice } from './range-choice.tsx';

const TIME_KEYS = ['from', 'to'] as const;

interface FilterFormProps {
  /** Of the address. */
  readonly values: URLSearchParams;
  /** The other fields, with the values of the address as defaults. */
  readonly children: ReactNode;
  /** Called with the values that are not empty. */
  readonly onFilter: (filter: Readonly<Record<string, string>>) => void;
  /** The address without the filter. `null`: there is none. */
  readonly cleared: string | null;
}

/** A filter with a time, which the address contains once it is applied. */
export function FilterForm({ values, children, onFilter, cleared }: FilterFormProps) {
  const text = useTexts(filterTexts);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const filter: Record<string, string> = {};
    for (const [key, value] of new FormData(event.currentTarget)) {
      if (typeof value !== 'string' || value === '') continue;
      filter[key] = TIME_KEYS.some((known) => known === key) ? timeOfInput(value) : value;
    }
    onFilter(filter);
  };
  return (
    <search>
      <form key={String(values)} className="line filter" onSubmit={submit}>
        {children}
        {TIME_KEYS.map((key) => (
          <Field key={key} label={text(key)}>
            <input name={key} type="datetime-local" defaultValue={minuteOf(values.get(key))} />
          </Field>
        ))}
        <button type="submit">{text('apply')}</button>
        {cleared !== null && <Link href={cleared}>{text('clear')}</Link>}
      </form>
      <RangeChoice onRange={(times) => onFilter({ ...Object.fromEntries(values), ...times })} />
    </search>
  );
}
