import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { CHANGES, type ChannelDraft } from './channel-draft.ts';
import { channelTexts } from './texts.ts';

interface RuleFieldsProps {
  readonly draft: ChannelDraft;
  readonly onChange: (part: Partial<ChannelDraft>) => void;
}

const MAX_SECONDS = 86_400;
const MAX_MINUTES = 1_440;

/** Which changes of problems are sent, and when. */
export function RuleFields({ draft, onChange }: RuleFieldsProps) {
  const text = useTexts(channelTexts);
  const number = (key: 'minimumSeconds' | 'digestMinutes', max: number) => (
    <Field label={text(key)} hint={text(`${key}Hint`)}>
      <input
        type="number"
        required={true}
        min={0}
        max={max}
        value={draft[key]}
        onInput={({ currentTarget: { valueAsNumber } }) =>
          onChange({ [key]: Number.isNaN(valueAsNumber) ? 0 : valueAsNumber })
        }
      />
    </Field>
  );
  return (
    <>
      <Field label={text('changes')}>
        <select
          value={draft.changes}
          onChange={({ currentTarget: { value } }) =>
            onChange({ changes: CHANGES.find((known) => known === value) ?? draft.changes })
          }
        >
          {CHANGES.map((one) => (
            <option key={one} value={one}>
              {text(one)}
            </option>
          ))}
        </select>
      </Field>
      {number('minimumSeconds', MAX_SECONDS)}
      {number('digestMinutes', MAX_MINUTES)}
    </>
  );
}
