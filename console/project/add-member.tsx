import { type FormEvent, useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { useNotices } from '../ui/notices.tsx';
import { Refusal } from '../ui/problem.tsx';
import { memberTexts } from './member-texts.ts';
import { type Role, RoleSelect } from './role-select.tsx';
import { ViewerNote } from './viewer-note.tsx';

export const SET_MEMBER = graphql(`mutation SetMember($input: SetProjectMemberInput!) {
  setProjectMember(input: $input) { member { role user { email } } }
}`);

/** Gives a user a role in the project. */
export function AddMember({ projectId, onAdded }: { readonly projectId: string; readonly onAdded: () => void }) {
  const text = useTexts(memberTexts);
  const notify = useNotices();
  const { run, isBusy, error } = useMutation(SET_MEMBER);
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('VIEWER');
  const add = async (event: FormEvent) => {
    event.preventDefault();
    if ((await run({ input: { projectId, email, role } })) === null) return;
    notify(text('added', { email, role: text(role) }));
    setEmail('');
    onAdded();
  };
  return (
    <form className="line" onSubmit={(event) => void add(event)}>
      <Field label={text('email')} hint={text('emailHint')}>
        <input
          type="email"
          required={true}
          autoComplete="off"
          value={email}
          onInput={({ currentTarget: { value } }) => setEmail(value)}
        />
      </Field>
      <Field label={text('role')} hint={text(`${role}Hint`)}>
        <RoleSelect value={role} onChange={setRole} />
      </Field>
      <button type="submit" disabled={isBusy}>
        {text('addMember')}
      </button>
      <ViewerNote role={role} />
      <Refusal error={error} />
    </form>
  );
}
