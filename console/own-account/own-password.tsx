import { type FormEvent, useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { useNotices } from '../ui/notices.tsx';
import { Refusal } from '../ui/problem.tsx';
import { ownAccountTexts } from './texts.ts';

const CHANGE = graphql(`mutation ChangePassword($input: ChangePasswordInput!) {
  changePassword(input: $input) { user { id } }
}`);

interface OwnPasswordProps {
  readonly hasSecondFactor: boolean;
  readonly onChanged: () => void;
}

export function OwnPassword({ hasSecondFactor, onChanged }: OwnPasswordProps) {
  const text = useTexts(ownAccountTexts);
  const notify = useNotices();
  const { run, isBusy, error } = useMutation(CHANGE);
  const [isUnequal, setUnequal] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const fields = new FormData(form);
    const value = (name: string) => String(fields.get(name) ?? '');
    const newPassword = value('new');
    setUnequal(newPassword !== value('again'));
    if (newPassword !== value('again')) return;
    const code = value('code').trim();
    const input = { currentPassword: value('current'), newPassword, ...(code !== '' && { code }) };
    if (await run({ input })) {
      form.reset();
      notify(text('passwordChanged'));
      onChanged();
    }
  };
  const password = (name: string, label: string, autoComplete: string, minLength?: number) => (
    <Field label={label}>
      <input name={name} type="password" autoComplete={autoComplete} minLength={minLength} required />
    </Field>
  );
  return (
    <>
      <h2>{text('ownPassword')}</h2>
      <form className="fields" onSubmit={(event) => void submit(event)}>
        {password('current', text('currentPassword'), 'current-password')}
        {password('new', text('newPassword'), 'new-password', 8)}
        {password('again', text('newPasswordAgain'), 'new-password', 8)}
        {hasSecondFactor && (
          <Field label={text('code')}>
            <input name="code" autoComplete="one-time-code" required />
          </Field>
        )}
        <p>{text('passwordEndsSessions')}</p>
        {isUnequal && <p role="alert">{text('passwordsDiffer')}</p>}
        <Refusal error={error} />
        <p className="buttons">
          <button type="submit" disabled={isBusy}>
            {text('changePassword')}
          </button>
        </p>
      </form>
    </>
  );
}
