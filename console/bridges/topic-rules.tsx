import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { type Fields, isFields, type Schema } from './schema.ts';
import { FurtherFields } from './schema-field.tsx';
import { bridgeTexts } from './texts.ts';

const MAIN = ['pattern', 'direction', 'remotePrefix'];
const DIRECTIONS = ['out', 'in', 'both'] as const;
const ARROWS = { out: '→', in: '←', both: '↔' } as const;

interface TopicRulesProps {
  /** Of one rule. */
  readonly schema: Schema;
  readonly rules: unknown;
  readonly onChange: (rules: readonly unknown[]) => void;
}

/** Which topics a connection forwards, with what they are called at each broker. */
export function TopicRules({ schema, rules, onChange }: TopicRulesProps) {
  const text = useTexts(bridgeTexts);
  const all: readonly Fields[] = Array.isArray(rules) ? rules.filter(isFields) : [];
  const set = (at: number, next: unknown) => onChange(all.with(at, isFields(next) ? next : {}));
  return (
    <fieldset className="fields">
      <legend>{text('topics')}</legend>
      {all.map((rule, at) => {
        const title = text('topicNumber', { number: at + 1 });
        const direction = DIRECTIONS.find((one) => one === rule.direction) ?? 'out';
        const of = (key: string) => String(rule[key] ?? '');
        const change = (key: string, value: string) => set(at, { ...rule, [key]: value });
        return (
          <fieldset key={at} className="fields bridge-topic" aria-label={title}>
            <Field label={text('direction')}>
              <select value={direction} onChange={({ currentTarget }) => change('direction', currentTarget.value)}>
                {DIRECTIONS.map((one) => (
                  <option key={one} value={one}>
                    {text(one)}
                  </option>
                ))}
              </select>
            </Field>
            <Field label={text('pattern')}>
              <input
                value={of('pattern')}
                placeholder="plant/#"
                required={of('remotePrefix') === '' || of('localPrefix') === ''}
                onInput={({ currentTarget }) => change('pattern', currentTarget.value)}
              />
            </Field>
            <Field label={text('remotePrefix')}>
              <input
                value={of('remotePrefix')}
                onInput={({ currentTarget }) => change('remotePrefix', currentTarget.value)}
              />
            </Field>
            {of('pattern') !== '' && (
              <p className="quiet">
                <code>{of('localPrefix') + of('pattern')}</code> {ARROWS[direction]}{' '}
                <code>{of('remotePrefix') + of('pattern')}</code>
              </p>
            )}
            <FurtherFields
              name={title}
              schema={schema}
              value={rule}
              isShown={(name) => !MAIN.includes(name)}
              onChange={(next) => set(at, next)}
            />
            {all.length > 1 && (
              <p>
                <button
                  type="button"
                  aria-label={text('removeEntry', { name: title })}
                  onClick={() => onChange(all.toSpliced(at, 1))}
                >
                  {text('remove')}
                </button>
              </p>
            )}
          </fieldset>
        );
      })}
      <p>
        <button type="button" onClick={() => onChange([...all, { pattern: '', direction: 'out' }])}>
          {text('addTopic')}
        </button>
      </p>
    </fieldset>
  );
}
