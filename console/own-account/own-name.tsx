import type { FormEvent } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { useNotices } from '../ui/notices.tsx';
import { Refusal } from '../ui/problem.tsx';
import { ownAccountTexts } from './texts.ts';

const RENAME = graphql(`mutation RenameUser($input: UpdateUserInput!) {
  updateUser(input: $input) { user { id name } }
}`);

interface OwnNameProps {
  readonly user: { readonly id: string; readonly name: string; readonly email: string };
  /** Only root administrators change names. */
  readonly canChange: boolean;
  readonly onChanged: () => void;
}

export function OwnName({ user: { id, name, email }, canChange, onChanged }: OwnNameProps) {
  const text = useTexts(ownAccountTexts);
  const notify = useNotices();
  const { run, isBusy, error } = useMutation(RENAME);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const changed = String(new FormData(event.currentTarget).get('name'));
    if (await run({ input: { userId: id, name: changed } })) {
      notify(text('nameChanged'));
      onChanged();
    }
  };
  return (
    <>
      <dl>
        <dt>{text('emailAddress')}</dt>
        <dd>{email}</dd>
        {!canChange && (
          <>
            <dt>{text('name')}</dt>
            <dd>
              {name} <small>{text('nameByAdministrator')}</small>
            </dd>
          </>
        )}
      </dl>
      {canChange && (
        <form className="fields" onSubmit={(event) => void submit(event)}>
          <Field label={text('name')}>
            <input name="name" defaultValue={name} maxLength={200} required />
          </Field>
          <Refusal error={error} />
          <p className="buttons">
            <button type="submit" disabled={isBusy}>
              {text('saveName')}
            </button>
          </p>
        </form>
      )}
    </>
  );
}
