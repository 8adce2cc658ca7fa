import { useState } from 'react';
import { useAccess } from '../access/access-context.ts';
import type { Change } from '../access/change.ts';
import { ChangeDialog } from '../access/change-dialog.tsx';
import { newPassword } from '../access/new-password.ts';
import { accessTexts } from '../access/texts.ts';
import { ask } from '../graph/ask.ts';
import { graphql } from '../graph/graphql.ts';
import type { RefusedError } from '../graph/refused.ts';
import { useDraft } from '../session/use-draft.ts';
import { useTexts } from '../texts/texts.ts';
import { ConnectDevice } from './connect-device.tsx';
import { DeviceForm } from './device-form.tsx';
import { changesOf, type Draft, examplesOf, type Role, roleOf } from './draft.ts';
import { giveAccessTexts } from './texts.ts';

const ROLE = graphql(`query RoleOfDevice($id: ID!, $roleName: String!) {
  broker(id: $id) {
    accessRole(roleName: $roleName) { roleName acls { aclType allow priority topic } }
  }
}`);

interface GiveAccessProps {
  /** What is known of the device. Empty: nothing. */
  readonly account: string;
  readonly clientId: string;
  readonly onClose: () => void;
}

interface Planned {
  readonly draft: Draft;
  readonly changes: readonly Change[];
  readonly role: Role;
}

/** From the name of a device over its account and its rights to its first connection. */
export function GiveAccess({ account, clientId, onClose }: GiveAccessProps) {
  const text = useTexts(giveAccessTexts);
  const accessText = useTexts(accessTexts);
  const { brokerId } = useAccess();
  const form = useDraft<Draft>(`device ${brokerId} ${account} ${clientId}`, {
    username: account,
    clientId,
    rights: 'BOTH',
    prefix: '',
    roleName: '',
  });
  const [password] = useState(newPassword);
  const [planned, setPlanned] = useState<Planned | null>(null);
  const [isCreated, setCreated] = useState(false);
  const [error, setError] = useState<RefusedError | null>(null);
  const review = async (next: Draft) => {
    const role = roleOf(next);
    const { data, error: refused } = await ask(ROLE, { id: brokerId, roleName: role.roleName });
    setError(refused);
    const known = data?.broker?.accessRole ?? null;
    if (refused === null)
      setPlanned({ draft: next, changes: changesOf(next, password, role, known), role: known ?? role });
  };
  const draft = planned?.draft;
  if (draft && isCreated) {
    return <ConnectDevice device={{ ...draft, ...examplesOf(draft, planned.role), password }} onClose={onClose} />;
  }
  if (draft) {
    return (
      <ChangeDialog
        title={text('accessOf', { name: draft.username })}
        action={accessText('createAccount')}
        changes={planned.changes}
        onDone={() => {
          form.discard();
          setCreated(true);
        }}
        onClose={() => setPlanned(null)}
        closes={accessText('backToForm')}
      >
        {planned.changes.length === 1 && <p>{text('sharesRole', { role: planned.role.roleName })}</p>}
      </ChangeDialog>
    );
  }
  return <DeviceForm draft={form} error={error} onSubmit={(next) => void review(next)} onClose={onClose} />;
}
