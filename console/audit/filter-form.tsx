import { useLocation, useSearchParams } from 'wouter';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { FilterForm as Form } from '../ui/filter-form.tsx';
import { RESULTS, TEXT_KEYS } from './audit-filter.ts';
import { auditTexts } from './texts.ts';

/** The filter of an audit. */
export function FilterForm() {
  const text = useTexts(auditTexts);
  const [path] = useLocation();
  const [search, setSearch] = useSearchParams();
  return (
    <Form
      values={search}
      onFilter={({ after, ...filter }) => setSearch(new URLSearchParams(filter))}
      cleared={search.size > 0 ? path : null}
    >
      {TEXT_KEYS.map((key) => (
        <Field key={key} label={text(key)}>
          <input name={key} type="search" autoComplete="off" spellCheck={false} defaultValue={search.get(key) ?? ''} />
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
    </Form>
  );
}
