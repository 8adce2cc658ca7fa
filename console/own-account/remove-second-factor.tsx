import type { FormEvent } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Dialog } from '../ui/dialog.tsx';
import { DialogButtons } from '../ui/dialog-buttons.tsx';
import { Field } from '../ui/field.tsx';
import { Refusal } from '../ui/problem.tsx';
import { ownAccountTexts } from './texts.ts';

const REMOVE = graphql(`mutation RemoveSecondFactor($input: RemoveSecondFactorInput!) {
  removeSecondFactor(input: $input) { __typename }
}`);

export function RemoveSecondFactor({ onClose }: { readonly onClose: () => void }) {
  const text = useTexts(ownAccountTexts);
  const { run, isBusy, error } = useMutation(REMOVE);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const input = { currentPassword: String(fields.get('password')), code: String(fields.get('code')).trim() };
    if (await run({ input })) onClose();
  };
  return (
    <Dialog title={text('removeSecondFactor')} onClose={onClose}>
      <form className="fields" onSubmit={(event) => void submit(event)}>
        <p>{text('removeSecondFactorMeans')}</p>
        <Field label={text('currentPassword')}>
          <input name="password" type="password" autoComplete="current-password" required />
        </Field>
        <Field label={text('code')}>
          <input name="code" autoComplete="one-time-code" required />
        </Field>
        <Refusal error={error} />
        <DialogButtons action={text('removeSecondFactor')} isBusy={isBusy} isDestructive={true} onClose={onClose} />
      </form>
    </Dialog>
  );
}
