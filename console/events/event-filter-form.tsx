import type { FormEvent } from 'react';
import { Link, useLocation } from 'wouter';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { timeOfInput } from '../ui/local-time.ts';
import { TimeField } from '../ui/time-field.tsx';
import { FILTER_KEYS, isFiltered, KINDS, queryOfNewest, TEXT_KEYS, TIME_KEYS } from './event-filter.ts';
import { RangeChoice } from './range-choice.tsx';
import { eventTexts } from './texts.ts';
import './style.css';

interface EventFilterFormProps {
  readonly values: URLSearchParams;
  /** Whether the events are those of several clients. */
  readonly hasClients: boolean;
}

/** The filter, which the address contains once it is applied. */
export function EventFilterForm({ values, hasClients }: EventFilterFormProps) {
  const text = useTexts(eventTexts);
  const [path, navigate] = useLocation();
  const isTime = (key: string) => TIME_KEYS.some((known) => known === key);
  /** The newest events of another filter. Other values of the address stay. */
  const addressOf = (filter: Readonly<Record<string, string>>) => {
    const query = queryOfNewest(values);
    for (const key of FILTER_KEYS) query.delete(key);
    for (const [key, value] of Object.entries(filter)) if (value !== '') query.set(key, value);
    return `${path}?${query}`;
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const filter: Record<string, string> = {};
    for (const [key, value] of new FormData(event.currentTarget)) {
      if (typeof value !== 'string' || value === '') continue;
      filter[key] = isTime(key) ? timeOfInput(value) : value;
    }
    navigate(addressOf(filter));
  };
  const current = Object.fromEntries(FILTER_KEYS.map((key) => [key, values.get(key) ?? '']));
  const labels = { client: text('clientId'), username: text('username') };
  return (
    <search>
      <form key={String(values)} className="line filter events-filter" onSubmit={submit}>
        {hasClients &&
          TEXT_KEYS.map((key) => (
            <Field key={key} label={labels[key]}>
              <input name={key} type="search" autoComplete="off" spellCheck={false} defaultValue={current[key]} />
            </Field>
          ))}
        <Field label={text('kind')}>
          <select name="kind" defaultValue={current.kind}>
            <option value="">{text('any')}</option>
            {KINDS.map((kind) => (
              <option key={kind} value={kind}>
                {text(kind)}
              </option>
            ))}
          </select>
        </Field>
        {TIME_KEYS.map((key) => (
          <TimeField key={key} name={key} label={text(key)} time={current[key] ?? ''} />
        ))}
        <button type="submit">{text('apply')}</button>
        {isFiltered(values) && <Link href={addressOf({})}>{text('clear')}</Link>}
      </form>
      <RangeChoice onRange={(times) => navigate(addressOf({ ...current, ...times }))} />
    </search>
  );
}
