import { type FormEvent, useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Dialog } from '../ui/dialog.tsx';
import { DialogButtons } from '../ui/dialog-buttons.tsx';
import { Field } from '../ui/field.tsx';
import { useNotices } from '../ui/notices.tsx';
import { Refusal } from '../ui/problem.tsx';
import { type SignsInBy, SignsInBySelect } from './signs-in-by-select.tsx';
import { peopleTexts } from './texts.ts';

const CREATE = graphql(`mutation CreateUser($input: CreateUserInput!) {
  createUser(input: $input) { user { id email } }
}`);

export function CreatePerson({ onCreated, onClose }: { readonly onCreated: () => void; readonly onClose: () => void }) {
  const text = useTexts(peopleTexts);
  const notify = useNotices();
  const { run, isBusy, error } = useMutation(CREATE);
  const [signsInBy, setSignsInBy] = useState<SignsInBy>('');
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const value = (name: string) => String(fields.get(name) ?? '').trim();
    const name = value('name');
    const input = {
      email: value('email'),
      isRootAdmin: fields.has('isRootAdmin'),
      isVerified: fields.has('isVerified'),
      ...(name !== '' && { name }),
      ...(signsInBy === '' ? { password: String(fields.get('password')) } : { ssoType: signsInBy }),
    };
    if (await run({ input })) {
      notify(text('personCreated', { email: input.email }));
      onCreated();
      onClose();
    }
  };
  return (
    <Dialog title={text('createPerson')} onClose={onClose}>
      <form className="fields" onSubmit={(event) => void submit(event)}>
        <Field label={text('emailAddress')}>
          <input name="email" type="email" autoComplete="off" required />
        </Field>
        <Field label={text('name')} hint={text('nameDefault')}>
          <input name="name" autoComplete="off" maxLength={200} />
        </Field>
        <SignsInBySelect value={signsInBy} onChange={setSignsInBy} />
        {signsInBy === '' && (
          <Field label={text('firstPassword')} hint={text('firstPasswordHint')}>
            <input name="password" type="password" autoComplete="new-password" minLength={8} required />
          </Field>
        )}
        <label className="check">
          <input name="isVerified" type="checkbox" /> {text('isVerified')}
        </label>
        <label className="check">
          <input name="isRootAdmin" type="checkbox" /> {text('becomesRootAdministrator')}
        </label>
        <Refusal error={error} />
        <DialogButtons action={text('create')} isBusy={isBusy} onClose={onClose} />
      </form>
    </Dialog>
  );
}
