import { type ReactNode, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { kindOf, type Schema } from './schema.ts';
import { bridgeTexts } from './texts.ts';

export interface ValueFieldProps {
  readonly name: string;
  readonly schema: Schema;
  /** `undefined`: absent. */
  readonly value: unknown;
  readonly isRequired: boolean;
  readonly onChange: (value: unknown) => void;
}

/** Texts that may be longer are edited in several lines, such as certificates. */
const ONE_LINE = 65_535;

/** An input for a value without fields or entries of its own. */
export function ValueField(props: ValueFieldProps): ReactNode {
  const { name, schema, value, isRequired, onChange } = props;
  const text = useTexts(bridgeTexts);
  const kind = kindOf(schema);
  const { description } = schema;
  const usual = schema.default === undefined ? undefined : text('usual', { value: JSON.stringify(schema.default) });
  if (kind === 'flag') {
    return (
      <label className="flag">
        <input
          type="checkbox"
          checked={Boolean(value ?? schema.default)}
          onChange={({ currentTarget: { checked } }) => onChange(checked)}
        />{' '}
        {name} <small>{description}</small>
      </label>
    );
  }
  if (kind === 'choice') {
    const choices = schema.enum ?? [];
    const chosen = choices.indexOf(value);
    return (
      <Field label={name} hint={description}>
        <select value={chosen} onChange={({ currentTarget }) => onChange(choices[Number(currentTarget.value)])}>
          {(!isRequired || chosen === -1) && <option value={-1}>{usual ?? '–'}</option>}
          {choices.map((choice, index) => (
            <option key={String(choice)} value={index}>
              {String(choice)}
            </option>
          ))}
        </select>
      </Field>
    );
  }
  if (kind === 'json') return <JsonField {...props} />;
  const absent = isRequired ? '' : undefined;
  if (kind === 'lines') {
    const lines = Array.isArray(value) ? value : [];
    return (
      <Field label={name} hint={`${description ?? ''} ${text('oneInLine')}`}>
        <textarea
          className="text-area"
          rows={Math.max(2, lines.length)}
          required={isRequired}
          value={lines.join('\n')}
          onInput={({ currentTarget }) => onChange(linesOf(currentTarget.value))}
        />
      </Field>
    );
  }
  if (kind === 'number') {
    return (
      <Field label={name} hint={description}>
        <input
          type="number"
          required={isRequired}
          min={schema.minimum}
          max={schema.maximum}
          step={schema.type === 'integer' ? 1 : 'any'}
          placeholder={usual}
          value={typeof value === 'number' ? value : ''}
          onInput={({ currentTarget }) =>
            onChange(currentTarget.value === '' ? undefined : Number(currentTarget.value))
          }
        />
      </Field>
    );
  }
  const change = (entered: string) => onChange(entered === '' ? absent : entered);
  const shown = typeof value === 'string' ? value : '';
  return (
    <Field label={name} hint={description}>
      {(schema.maxLength ?? 0) > ONE_LINE ? (
        <textarea
          className="text-area"
          rows={2}
          value={shown}
          onInput={({ currentTarget }) => change(currentTarget.value)}
        />
      ) : (
        <input
          type={schema.writeOnly ? 'password' : 'text'}
          autoComplete="off"
          required={isRequired && (schema.minLength ?? 0) > 0}
          placeholder={usual}
          value={shown}
          onInput={({ currentTarget }) => change(currentTarget.value)}
        />
      )}
    </Field>
  );
}

function JsonField({ name, schema, value, onChange }: ValueFieldProps) {
  const text = useTexts(bridgeTexts);
  const [entered, setEntered] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)));
  const [problem, setProblem] = useState<string | null>(null);
  const change = (next: string) => {
    setEntered(next);
    try {
      onChange(next.trim() === '' ? undefined : JSON.parse(next));
      setProblem(null);
    } catch (error) {
      setProblem(String(error));
    }
  };
  return (
    <>
      <Field label={name} hint={`${schema.description ?? ''} ${text('asJson')}`}>
        <textarea
          className="text-area"
          rows={3}
          value={entered}
          onInput={({ currentTarget }) => change(currentTarget.value)}
        />
      </Field>
      {problem !== null && <p role="alert">{problem}</p>}
    </>
  );
}

/** A line that is being entered may still be empty at the end. */
const linesOf = (text: string): readonly string[] => (text === '' ? [] : text.split('\n'));
