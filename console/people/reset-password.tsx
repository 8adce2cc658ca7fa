import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { useNotices } from '../ui/notices.tsx';
import type { PersonActionProps } from './managed-person.ts';
import { PersonForm } from './person-form.tsx';
import { peopleTexts } from './texts.ts';

const RESET = graphql(`mutation ResetUserPassword($input: ResetUserPasswordInput!) {
  resetUserPassword(input: $input) { user { id } }
}`);

export function ResetPassword({ person: { email }, onChanged, onClose }: PersonActionProps) {
  const text = useTexts(peopleTexts);
  const notify = useNotices();
  const { run, isBusy, error } = useMutation(RESET);
  const save = async (fields: FormData) => {
    if (await run({ input: { email, password: String(fields.get('password')) } })) {
      notify(text('passwordReset', { email }));
      onChanged();
      onClose();
    }
  };
  return (
    <PersonForm
      title={text('resetPassword')}
      action={text('resetPassword')}
      isBusy={isBusy}
      error={error}
      onSubmit={save}
      onClose={onClose}
    >
      <p>{text('resetPasswordMeans', { email })}</p>
      <Field label={text('newPassword')} hint={text('firstPasswordHint')}>
        <input name="password" type="password" autoComplete="new-password" minLength={8} required />
      </Field>
    </PersonForm>
  );
}
