import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import type { PersonActionProps } from './managed-person.ts';
import { PersonForm } from './person-form.tsx';
import { peopleTexts } from './texts.ts';

const UPDATE = graphql(`mutation UpdateUser($input: UpdateUserInput!) {
  updateUser(input: $input) { user { id name } }
}`);

export function RenamePerson({ person: { id, name }, onChanged, onClose }: PersonActionProps) {
  const text = useTexts(peopleTexts);
  const { run, isBusy, error } = useMutation(UPDATE);
  const save = async (fields: FormData) => {
    if (await run({ input: { userId: id, name: String(fields.get('name')) } })) {
      onChanged();
      onClose();
    }
  };
  return (
    <PersonForm
      title={text('rename')}
      action={text('save')}
      isBusy={isBusy}
      error={error}
      onSubmit={save}
      onClose={onClose}
    >
      <Field label={text('name')}>
        <input name="name" defaultValue={name} maxLength={200} required />
      </Field>
    </PersonForm>
  );
}
