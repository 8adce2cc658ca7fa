import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import type { PersonActionProps } from './managed-person.ts';
import { peopleTexts } from './texts.ts';

const SET = graphql(`mutation SetRootAdmin($input: SetRootAdminInput!) {
  setRootAdmin(input: $input) { user { id isRootAdmin } }
}`);

export function ChangeRole({ person: { email, isRootAdmin }, onChanged, onClose }: PersonActionProps) {
  const text = useTexts(peopleTexts);
  const { run, isBusy, error } = useMutation(SET);
  const confirm = async () => {
    if (await run({ input: { email, isRootAdmin: !isRootAdmin } })) {
      onChanged();
      onClose();
    }
  };
  const action = text(isRootAdmin ? 'revokeRoot' : 'grantRoot');
  return (
    <Confirmation
      title={action}
      action={action}
      isDestructive={isRootAdmin}
      isBusy={isBusy}
      error={error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>{text(isRootAdmin ? 'revokeRootMeans' : 'grantRootMeans', { email })}</p>
    </Confirmation>
  );
}
