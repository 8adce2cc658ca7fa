import { useLocation } from 'wouter';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { FilterForm } from '../ui/filter-form.tsx';
import { FILTER_KEYS, isFiltered, KINDS, queryOfNewest, TEXT_KEYS } from './event-filter.ts';
import { eventTexts } from './texts.ts';

interface EventFilterFormProps {
  readonly values: URLSearchParams;
  /** Whether the events are those of several clients. */
  readonly hasClients: boolean;
}

/** The filter of events. Other values of the address stay. */
export function EventFilterForm({ values, hasClients }: EventFilterFormProps) {
  const text = useTexts(eventTexts);
  const [path, navigate] = useLocation();
  /** The newest events of another filter. */
  const addressOf = (filter: Readonly<Record<string, string>>) => {
    const query = queryOfNewest(values);
    for (const key of FILTER_KEYS) {
      query.delete(key);
      if (filter[key]) query.set(key, filter[key]);
    }
    return `${path}?${query}`;
  };
  const labels = { client: text('clientId'), username: text('username') };
  return (
    <FilterForm
      values={values}
      onFilter={(filter) => navigate(addressOf(filter))}
      cleared={isFiltered(values) ? addressOf({}) : null}
    >
      {hasClients &&
        TEXT_KEYS.map((key) => (
          <Field key={key} label={labels[key]}>
            <input
              name={key}
              type="search"
              autoComplete="off"
              spellCheck={false}
              defaultValue={values.get(key) ?? ''}
            />
          </Field>
        ))}
      <Field label={text('kind')}>
        <select name="kind" defaultValue={values.get('kind') ?? ''}>
          <option value="">{text('any')}</option>
          {KINDS.map((kind) => (
            <option key={kind} value={kind}>
              {text(kind)}
            </option>
          ))}
        </select>
      </Field>
    </FilterForm>
  );
}
