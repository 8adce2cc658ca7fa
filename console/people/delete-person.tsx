import { useLocation } from 'wouter';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { useNotices } from '../ui/notices.tsx';
import type { PersonActionProps } from './managed-person.ts';
import { PersonForm } from './person-form.tsx';
import { peopleTexts } from './texts.ts';

const DELETE = graphql(`mutation DeleteUser($input: DeleteUserInput!) {
  deleteUser(input: $input) { deletedUserId handedOverProjectIds }
}`);
const OTHERS = graphql(`query OtherPeople { users(first: 200, orderBy: { field: EMAIL }) { nodes { id email } } }`);

/** Deletes a person, whose projects get another owner. */
export function DeletePerson({ person, onClose }: PersonActionProps) {
  const text = useTexts(peopleTexts);
  const notify = useNotices();
  const [, navigate] = useLocation();
  const { data } = useQuery(OTHERS, {});
  const { run, isBusy, error } = useMutation(DELETE);
  const { id, email, projectCount } = person;
  const confirm = async (fields: FormData) => {
    const handOverTo = String(fields.get('handOverTo') ?? '');
    if (await run({ input: { userId: id, ...(handOverTo !== '' && { handOverTo }) } })) {
      notify(text('personDeleted', { email }));
      onClose();
      navigate('/people');
    }
  };
  return (
    <PersonForm
      title={text('deletePerson')}
      action={text('deletePerson')}
      isDestructive={true}
      isBusy={isBusy}
      error={error}
      onSubmit={confirm}
      onClose={onClose}
    >
      <p>{text('deletePersonMeans', { email })}</p>
      <Field label={text('handOverTo', { count: projectCount ?? 0 })} hint={text('handOverHint')}>
        <select name="handOverTo" required={(projectCount ?? 0) > 0}>
          <option value="">{text('none')}</option>
          {data?.users.nodes
            .filter((other) => other.id !== id)
            .map((other) => (
              <option key={other.id} value={other.id}>
                {other.email}
              </option>
            ))}
        </select>
      </Field>
    </PersonForm>
  );
}
