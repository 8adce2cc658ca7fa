import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { whyTexts } from './texts.ts';
import { ACTIONS, type Action } from './use-why.ts';

interface ActionFieldProps {
  readonly value: Action;
  readonly onChange: (action: Action) => void;
}

export function ActionField({ value, onChange }: ActionFieldProps) {
  const text = useTexts(whyTexts);
  return (
    <Field label={text('action')}>
      <select
        value={value}
        onChange={({ currentTarget }) => onChange(ACTIONS.find((known) => known === currentTarget.value) ?? value)}
      >
        {ACTIONS.map((action) => (
          <option key={action} value={action}>
            {text(action)}
          </option>
        ))}
      </select>
    </Field>
  );
}
