import { X } from 'lucide-react';
import { useTexts } from '../texts/texts.ts';
import type { NamedValue } from './channel-draft.ts';
import { channelTexts } from './texts.ts';

interface NamedValuesProps {
  readonly title: string;
  readonly values: readonly NamedValue[];
  readonly onChange: (values: readonly NamedValue[]) => void;
}

/** The service takes no more. */
const MAX_VALUES = 20;

/** Names with secret values, such as headers. */
export function NamedValues({ title, values, onChange }: NamedValuesProps) {
  const text = useTexts(channelTexts);
  const set = (index: number, part: Partial<NamedValue>) =>
    onChange(values.map((value, nth) => (nth === index ? { ...value, ...part } : value)));
  return (
    <fieldset className="named-values">
      <legend>{title}</legend>
      {values.map(({ name, value }, index) => (
        <div key={index}>
          <input
            aria-label={text('nameOf', { title, number: index + 1 })}
            placeholder={text('name')}
            required={value !== ''}
            spellCheck={false}
            autoComplete="off"
            value={name}
            onInput={({ currentTarget }) => set(index, { name: currentTarget.value })}
          />
          <input
            type="password"
            aria-label={text('valueOf', { title, number: index + 1 })}
            placeholder={text('secretValue')}
            required={name !== ''}
            autoComplete="new-password"
            value={value}
            onInput={({ currentTarget }) => set(index, { value: currentTarget.value })}
          />
          <button
            type="button"
            className="icon"
            aria-label={text('removeOf', { title, number: index + 1 })}
            onClick={() => onChange(values.filter((_value, nth) => nth !== index))}
          >
            <X aria-hidden="true" />
          </button>
        </div>
      ))}
      {values.length < MAX_VALUES && (
        <button type="button" onClick={() => onChange([...values, { name: '', value: '' }])}>
          {text('add')}
        </button>
      )}
    </fieldset>
  );
}
