import { useId } from 'react';
import { useTexts } from '../texts/texts.ts';
import type { AnonymousGroup, ClientAccess } from './operations.ts';
import { RoleList } from './role-list.tsx';
import { clientTexts } from './texts.ts';

interface AccessOfClientProps {
  /** `null` if the broker does not know the client. */
  readonly access: ClientAccess | null;
  readonly anonymousGroup: AnonymousGroup;
}

/** From the account of a client over its groups and roles to their rules. */
export function AccessOfClient({ access, anonymousGroup }: AccessOfClientProps) {
  const text = useTexts(clientTexts);
  const heading = useId();
  if (access === null) return null;
  const { account, username } = access;
  return (
    <section aria-labelledby={heading}>
      <h3 id={heading}>{text('access')}</h3>
      {account && (
        <>
          <p>
            <strong>{account.username}</strong>
            {account.textName && ` (${account.textName})`}
            {!account.enabled && <span className="state UNAUTHORIZED"> {text('disabled')}</span>}
            {account.clientId !== null && ` ${text('boundTo', { client: account.clientId })}`}
          </p>
          <RoleList title={text('ownRoles')} roles={account.roles} />
          {account.groups.map(({ groupName, priority, group }) => (
            <RoleList
              key={groupName}
              title={text('rolesOfGroup', { group: groupName, priority })}
              roles={group?.roles ?? []}
            />
          ))}
          {account.roles.length === 0 && account.groups.length === 0 && <p className="quiet">{text('noRoles')}</p>}
        </>
      )}
      {!account && username === ANONYMOUS && anonymousGroup && (
        <>
          <p>{text('anonymous')}</p>
          <RoleList
            title={text('rolesOfGroup', { group: anonymousGroup.groupName, priority: -1 })}
            roles={anonymousGroup.roles}
          />
        </>
      )}
      {!account && !(username === ANONYMOUS && anonymousGroup) && <p className="quiet">{text('noAccount')}</p>}
    </section>
  );
}

/** The user name in the graph of a client that gave none. */
export const ANONYMOUS = '<anonymous>';
