import { useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import type { PersonActionProps } from './managed-person.ts';
import { PersonForm } from './person-form.tsx';
import { type SignsInBy, SignsInBySelect } from './signs-in-by-select.tsx';
import { peopleTexts } from './texts.ts';

const UPDATE = graphql(`mutation UpdateUser($input: UpdateUserInput!) {
  updateUser(input: $input) { user { id name } }
}`);

/** Changes the name, the verification of the address, and where a person signs in. */
export function ChangePerson({ person, onChanged, onClose }: PersonActionProps) {
  const text = useTexts(peopleTexts);
  const { run, isBusy, error } = useMutation(UPDATE);
  const before: SignsInBy = person.ssoType ?? '';
  const [signsInBy, setSignsInBy] = useState<SignsInBy>(before);
  const save = async (fields: FormData) => {
    const input = {
      userId: person.id,
      name: String(fields.get('name')),
      isVerified: fields.has('isVerified'),
      isSecondFactorRequired: fields.has('isSecondFactorRequired'),
      ...(signsInBy !== before && { ssoType: signsInBy === '' ? null : signsInBy }),
    };
    if (await run({ input })) {
      onChanged();
      onClose();
    }
  };
  return (
    <PersonForm
      title={text('changePerson')}
      action={text('save')}
      isBusy={isBusy}
      error={error}
      onSubmit={save}
      onClose={onClose}
    >
      <Field label={text('name')}>
        <input name="name" defaultValue={person.name} maxLength={200} required />
      </Field>
      <label className="check">
        <input name="isVerified" type="checkbox" defaultChecked={person.isVerified} /> {text('isVerified')}
      </label>
      <label className="choice">
        <input name="isSecondFactorRequired" type="checkbox" defaultChecked={person.isSecondFactorRequired === true} />
        <span>
          {text('requireSecondFactor')} <small>{text('requireSecondFactorMeans')}</small>
        </span>
      </label>
      <SignsInBySelect value={signsInBy} onChange={setSignsInBy} />
      {signsInBy !== before && <p className="note">{text('changeSignInMeans', { email: person.email })}</p>}
    </PersonForm>
  );
}
