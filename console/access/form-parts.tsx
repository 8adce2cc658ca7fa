import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { accessTexts } from './texts.ts';

interface Texts {
  readonly textName: string | null;
  readonly textDescription: string | null;
}

interface NameFieldsProps {
  readonly values: Texts;
  readonly onChange: (part: Partial<Texts>) => void;
}

/** The display name and the note that accounts, groups and roles have. */
export function NameFields({ values, onChange }: NameFieldsProps) {
  const text = useTexts(accessTexts);
  return (
    <>
      <Field label={text('displayName')}>
        <input
          value={values.textName ?? ''}
          onInput={({ currentTarget: { value } }) => onChange({ textName: value === '' ? null : value })}
        />
      </Field>
      <Field label={text('description')}>
        <input
          value={values.textDescription ?? ''}
          onInput={({ currentTarget: { value } }) => onChange({ textDescription: value === '' ? null : value })}
        />
      </Field>
    </>
  );
}

/** Another person or program has changed what the form shows. */
export function MeanwhileChanged() {
  const text = useTexts(accessTexts);
  return (
    <p className="note" role="status">
      {text('meanwhileChanged')}
    </p>
  );
}

/** The submit button opens the confirmation, so it does not say "save". */
export function FormButtons({ onClose }: { readonly onClose: () => void }) {
  const text = useTexts(accessTexts);
  return (
    <p className="buttons">
      <button type="button" onClick={onClose}>
        {text('cancel')}
      </button>
      <button type="submit">{text('showChanges')}</button>
    </p>
  );
}
