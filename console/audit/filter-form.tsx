import type { FormEvent } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { timeOfInput } from '../ui/local-time.ts';
import { TimeField } from '../ui/time-field.tsx';
import { RESULTS, TEXT_KEYS, TIME_KEYS } from './audit-filter.ts';
import { auditTexts } from './texts.ts';

/** The filter, which the address contains once it is applied. */
export function FilterForm() {
  const text = useTexts(auditTexts);
  const [path] = useLocation();
  const [search, setSearch] = useSearchParams();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const wanted = new URLSearchParams();
    for (const [key, value] of new FormData(event.currentTarget)) {
      if (typeof value !== 'string' || value === '') continue;
      const isTime = TIME_KEYS.some((known) => known === key);
      wanted.set(key, isTime ? timeOfInput(value) : value);
    }
    setSearch(wanted);
  };
  return (
    <search>
      <form key={String(search)} className="line filter" onSubmit={submit}>
        {TEXT_KEYS.map((key) => (
          <Field key={key} label={text(key)}>
            <input
              name={key}
              type="search"
              autoComplete="off"
              spellCheck={false}
              defaultValue={search.get(key) ?? ''}
            />
          </Field>
        ))}
        <Field label={text('result')}>
          <select name="result" defaultValue={search.get('result') ?? ''}>
            <option value="">{text('any')}</option>
            {RESULTS.map((result) => (
              <option key={result} value={result}>
                {text(result)}
              </option>
            ))}
          </select>
        </Field>
        {TIME_KEYS.map((key) => (
          <TimeField key={key} name={key} label={text(key)} time={search.get(key)} />
        ))}
        <button type="submit">{text('apply')}</button>
        {search.size > 0 && <Link href={path}>{text('clear')}</Link>}
      </form>
    </search>
  );
}
