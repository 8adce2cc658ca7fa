import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { peopleTexts } from './texts.ts';

/** Empty: a password of this service. */
export type SignsInBy = '' | 'SSO' | 'LDAP';

interface SignsInBySelectProps {
  readonly value: SignsInBy;
  readonly onChange: (value: SignsInBy) => void;
}

export function SignsInBySelect({ value, onChange }: SignsInBySelectProps) {
  const text = useTexts(peopleTexts);
  return (
    <Field label={text('signsInBy')}>
      <select
        value={value}
        onChange={({ currentTarget: { value: chosen } }) =>
          onChange(chosen === 'SSO' || chosen === 'LDAP' ? chosen : '')
        }
      >
        <option value="">{text('password')}</option>
        <option value="SSO">{text('openId')}</option>
        <option value="LDAP">{text('directory')}</option>
      </select>
    </Field>
  );
}
