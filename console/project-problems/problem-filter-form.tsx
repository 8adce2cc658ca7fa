import { SEVERITIES } from '../problems/open-problems.ts';
import { KINDS } from '../problems/project-kinds.ts';
import { useBrokers } from '../problems/scope-fields.tsx';
import { titleTexts } from '../problems/title-texts.ts';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { minuteOf, timeOfInput } from '../ui/local-time.ts';
import { CHOICES, KEYS, STATES } from './problem-filter.ts';
import { screenTexts } from './screen-texts.ts';

interface ProblemFilterFormProps {
  readonly projectId: string;
  readonly values: URLSearchParams;
  readonly onChange: (changes: Readonly<Record<string, string>>) => void;
}

const DAY_MS = 86_400_000;
const NOTHING = Object.fromEntries(KEYS.map((key) => [key, '']));

/** The filter, which the address contains. */
export function ProblemFilterForm({ projectId, values, onChange }: ProblemFilterFormProps) {
  const text = useTexts(screenTexts);
  const titleOf = useTexts(titleTexts);
  const brokers = useBrokers(projectId) ?? [];
  const since = (days: number) =>
    onChange({ ...NOTHING, state: 'all', from: new Date(Date.now() - days * DAY_MS).toISOString() });
  const select = (
    key: 'severity' | 'kind' | 'broker' | 'acknowledged' | 'silenced' | 'state',
    options: readonly (readonly [value: string, title: string])[],
  ) => (
    <Field label={text(key)}>
      <select
        value={values.get(key) ?? options[0]?.[0]}
        onChange={({ currentTarget: { value } }) => onChange({ [key]: value === options[0]?.[0] ? '' : value })}
      >
        {options.map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
    </Field>
  );
  const any = ['', text('any')] as const;
  const chosen = KEYS.filter((key) => values.has(key));
  const folded = chosen.filter((key) => key !== 'state');
  return (
    <search className="problem-filter">
      <div>
        {select(
          'state',
          STATES.map((state) => [state, text(state)]),
        )}
        <p className="presets">
          <button type="button" onClick={() => since(1)}>
            {text('lastDay')}
          </button>
          <button type="button" onClick={() => since(7)}>
            {text('lastWeek')}
          </button>
          {chosen.length > 0 && (
            <button type="button" onClick={() => onChange(NOTHING)}>
              {text('clear')}
            </button>
          )}
        </p>
      </div>
      <details open={folded.length > 0}>
        <summary>
          {text('filter')}{' '}
          {folded.length > 0 && <span className="quiet">{text('inUse', { count: folded.length })}</span>}
        </summary>
        <div>
          {select('severity', [any, ...SEVERITIES.map((one) => [one, text(one)] as const)])}
          {select('kind', [any, ...KINDS.map((kind) => [kind, titleOf(kind)] as const)])}
          {select('broker', [any, ...brokers.map(({ id, name }) => [id, name] as const)])}
          {select('acknowledged', [any, ...CHOICES.map((choice) => [choice, text(choice)] as const)])}
          {select('silenced', [any, ...CHOICES.map((choice) => [choice, text(choice)] as const)])}
          {(['from', 'to'] as const).map((key) => (
            <Field key={key} label={text(key)}>
              <input
                type="datetime-local"
                value={minuteOf(values.get(key))}
                onChange={({ currentTarget: { value } }) => onChange({ [key]: timeOfInput(value) })}
              />
            </Field>
          ))}
        </div>
      </details>
    </search>
  );
}
