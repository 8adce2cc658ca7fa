import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { graphql } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Problem } from '../ui/problem.tsx';
import { useAccess } from './access-context.ts';
import { accessAddress } from './addresses.ts';
import { ChangeDialog } from './change-dialog.tsx';
import { groups, HeldWords } from './held-words.tsx';
import { LastChange, useLastChanges } from './last-changes.tsx';
import { Names } from './names.tsx';
import { NoObject, ObjectHeader } from './object-header.tsx';
import { RoleForm } from './role-form.tsx';
import { Rules } from './rules.tsx';
import { accessTexts } from './texts.ts';

const ROLE = graphql(`query AccessRole($id: ID!, $roleName: String!) {
  broker(id: $id) {
    accessRole(roleName: $roleName) {
      roleName
      textName
      textDescription
      allowWildcardSubs
      acls { aclType allow priority topic }
      accounts(first: 20) { totalCount edges { priority node { username } } }
      groups(first: 100) { totalCount edges { priority node { groupName } } }
    }
  }
}`);

/** One role with its rules, and who holds it. */
export function RolePage({ roleName }: { readonly roleName: string }) {
  const text = useTexts(accessTexts);
  const numberOf = useNumbers();
  const [, go] = useLocation();
  const { brokerId, revision, knowsWildcardFlag } = useAccess();
  const [dialog, setDialog] = useState<'edit' | 'delete' | null>(null);
  const variables = { id: brokerId, roleName };
  const { data, error } = useFresh(ROLE, variables, revision);
  const changes = useLastChanges('ROLE', [roleName]);
  if (!data?.broker) return <Problem error={error} />;
  const role = data.broker.accessRole;
  if (!role) return <NoObject kind="roles" name={roleName} />;
  const close = () => setDialog(null);
  const holders = role.groups.edges.map(({ priority, node: { groupName } }) => ({ groupName, priority }));
  return (
    <>
      <ObjectHeader
        kind="roles"
        name={role.roleName}
        onEdit={() => setDialog('edit')}
        onDelete={() => setDialog('delete')}
      />
      <dl>
        <Names of={role} />
        {knowsWildcardFlag && (
          <>
            <dt>{text('wildcards')}</dt>
            <dd>{text(role.allowWildcardSubs === false ? 'denied' : 'allowed')}</dd>
          </>
        )}
        <dt>{text('groups')}</dt>
        <dd>
          <HeldWords kind="groups" held={groups(holders)} />
        </dd>
        <dt>{text('accounts')}</dt>
        <dd>
          <Link href={accessAddress(brokerId, 'accounts', { role: roleName })}>
            {numberOf(role.accounts.totalCount)}
          </Link>
        </dd>
        {changes && (
          <>
            <dt>{text('lastChange')}</dt>
            <dd>
              <LastChange changes={changes} name={roleName} />
            </dd>
          </>
        )}
      </dl>
      <h3>{text('rules')}</h3>
      <Rules label={text('rules')} rules={role.acls} />
      <CopyAs document={ROLE} variables={variables} />
      {dialog === 'edit' && <RoleForm edited={role} onClose={close} />}
      {dialog === 'delete' && (
        <ChangeDialog
          title={text('deleteRole', { name: roleName })}
          action={text('deleteRole', { name: roleName })}
          isDestructive={true}
          changes={[{ deleteAccessRole: { roleName } }]}
          onDone={() => go(accessAddress(brokerId, 'roles'))}
          onClose={close}
        />
      )}
    </>
  );
}
