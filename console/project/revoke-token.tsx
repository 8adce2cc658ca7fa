import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts, useTimes } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { useNotices } from '../ui/notices.tsx';
import type { Role } from './role-select.tsx';
import { tokenTexts } from './token-texts.ts';

const REVOKE = graphql(`mutation RevokeToken($input: RevokeTokenInput!) {
  revokeToken(input: $input) { __typename }
}`);

interface RevokeTokenProps {
  readonly token: {
    readonly id: string;
    readonly name: string;
    readonly role: Role;
    readonly lastUsedAt: string | null;
  };
  /** The brokers to which it gives access, in words. */
  readonly scope: string;
  readonly onRevoked: () => void;
  readonly onClose: () => void;
}

/** Ends a token, after it was shown when a program last used it. */
export function RevokeToken({ token, scope, onRevoked, onClose }: RevokeTokenProps) {
  const text = useTexts(tokenTexts);
  const timeOf = useTimes();
  const notify = useNotices();
  const { run, isBusy, error } = useMutation(REVOKE);
  const { id, name, role, lastUsedAt } = token;
  const revoke = async () => {
    if ((await run({ input: { tokenId: id } })) === null) return;
    notify(text('revoked', { name }));
    onRevoked();
  };
  return (
    <Confirmation
      title={text('revokeOf', { name })}
      action={text('revokeOf', { name })}
      isDestructive={true}
      isBusy={isBusy}
      error={error}
      onConfirm={() => void revoke()}
      onClose={onClose}
    >
      <p>{text('revokeWhat', { role: text(role), scope: scope || text('none') })}</p>
      <p>{lastUsedAt === null ? text('neverUsed') : text('lastUse', { time: timeOf(lastUsedAt) })}</p>
    </Confirmation>
  );
}
