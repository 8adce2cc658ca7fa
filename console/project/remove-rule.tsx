import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { useNotices } from '../ui/notices.tsx';
import type { Role } from './role-select.tsx';
import { ruleTexts } from './rule-texts.ts';

const DELETE = graphql(`mutation DeleteRule($input: DeleteSignInRuleInput!) {
  deleteSignInRule(input: $input) { __typename }
}`);

interface RemoveRuleProps {
  readonly rule: { readonly id: string; readonly pattern: string; readonly claimPath: string; readonly role: Role };
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function RemoveRule({ rule, onDone, onClose }: RemoveRuleProps) {
  const text = useTexts(ruleTexts);
  const notify = useNotices();
  const { run, isBusy, error } = useMutation(DELETE);
  const { id, pattern, claimPath, role } = rule;
  const remove = async () => {
    if ((await run({ input: { ruleId: id } })) === null) return;
    notify(text('removed'));
    onDone();
  };
  return (
    <Confirmation
      title={text('removeOf', { pattern })}
      action={text('removeOf', { pattern })}
      isDestructive={true}
      isBusy={isBusy}
      error={error}
      onConfirm={() => void remove()}
      onClose={onClose}
    >
      <p>{text('lose', { pattern, claim: claimPath, role: text(role) })}</p>
    </Confirmation>
  );
}
