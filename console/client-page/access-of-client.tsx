import { useId } from 'react';
import { Link } from 'wouter';
import { accessAddress, giveAccessAddress } from '../access/addresses.ts';
import { accessTexts } from '../access/texts.ts';
import { useTexts } from '../texts/texts.ts';
import type { AccessOfBroker } from './operations.ts';
import { RoleList } from './role-list.tsx';
import { clientTexts } from './texts.ts';

interface AccessOfClientProps {
  readonly brokerId: string;
  readonly clientId: string;
  readonly access: AccessOfBroker;
  /** The user name of its last event, which is the only one that is known of a client that is away. */
  readonly lastUsername: string | null;
  /** Whether the broker can be queried. */
  readonly isReached: boolean;
}

/** From the account of a client over its groups and roles to their rules. */
export function AccessOfClient({ brokerId, clientId, access, lastUsername, isReached }: AccessOfClientProps) {
  const text = useTexts(clientTexts);
  const accessText = useTexts(accessTexts);
  const heading = useId();
  const { connectedClient: client, anonymousGroup } = access;
  const account = client === null ? (access.account ?? null) : client.account;
  const isAnonymous = client?.username === ANONYMOUS;
  const named = [client?.username, lastUsername].find((name) => name != null && name !== ANONYMOUS);
  return (
    <section aria-labelledby={heading}>
      <h3 id={heading}>{text('access')}</h3>
      {account && (
        <>
          {client === null && <p className="quiet">{text('lastAccount')}</p>}
          <p>
            <Link href={accessAddress(brokerId, 'accounts', { name: account.username })}>{account.username}</Link>
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
      {!account && isAnonymous && anonymousGroup && (
        <>
          <p>{text('anonymous')}</p>
          <RoleList
            title={text('rolesOfGroup', { group: anonymousGroup.groupName, priority: -1 })}
            roles={anonymousGroup.roles}
          />
        </>
      )}
      {!account && client && !(isAnonymous && anonymousGroup) && <p className="quiet">{text('noAccount')}</p>}
      {!account && !client && !isReached && <p className="quiet">{text('unknownNow')}</p>}
      {!account && !client && isReached && (
        <p className="quiet">
          {lastUsername === null ? text('accountUnknown') : text('accountMissing', { account: lastUsername })}
        </p>
      )}
      {!account && isReached && access.viewerCanChangeAccessControl && (
        <Link href={giveAccessAddress(brokerId, { account: named ?? clientId, client: clientId })}>
          {accessText('giveAccess')}
        </Link>
      )}
    </section>
  );
}

/** The user name in the graph of a client that gave none. */
export const ANONYMOUS = '<anonymous>';
