import { type ReactNode, useEffect, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { clientPath } from '../clients/client-address.ts';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { LongName } from '../ui/long-name.tsx';
import { Problem } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { useCapabilityReason } from '../ui/use-capability-reason.tsx';
import { useAccess } from './access-context.ts';
import { AccountForm } from './account-form.tsx';
import { accessAddress, whyAddress } from './addresses.ts';
import type { Change } from './change.ts';
import { ChangeDialog } from './change-dialog.tsx';
import { ClientsOf } from './clients-of.tsx';
import { Enabled } from './enabled.tsx';
import { groups, HeldWords, roles } from './held-words.tsx';
import { LastChange, useLastChanges } from './last-changes.tsx';
import { Names } from './names.tsx';
import { NoObject, ObjectHeader } from './object-header.tsx';
import { type ListedRule, Rules } from './rules.tsx';
import { accessTexts } from './texts.ts';

const ACCOUNT = graphql(`query Account($id: ID!, $username: String!) {
  broker(id: $id) {
    capabilities { api reason reasonCode }
    account(username: $username) {
      username
      clientId
      enabled
      textName
      textDescription
      isGateway
      roles { roleName priority role { acls { aclType allow priority topic } } }
      groups {
        groupName
        priority
        group { roles { roleName priority role { acls { aclType allow priority topic } } } }
      }
      connections { clientId address lastConnectedAt isConnected isGateway }
    }
  }
}`);

type Account = NonNullable<NonNullable<ResultOf<typeof ACCOUNT>['broker']>['account']>;
type Connection = NonNullable<Account['connections']>[number];
type Dialog = 'edit' | 'enable' | 'delete';

/** Connections are no part of the access control, so its changes do not report them. */
const CONNECTIONS_MS = 1_000;

/** One account: what it holds, what it may do, and who uses it. */
export function AccountPage({ username }: { readonly username: string }) {
  const text = useTexts(accessTexts);
  const [, go] = useLocation();
  const { brokerId, revision } = useAccess();
  const [tick, setTick] = useState(0);
  const [dialog, setDialog] = useState<Dialog | null>(null);
  useEffect(() => {
    const timer = setInterval(
      () => document.visibilityState === 'hidden' || setTick((before) => before + 1),
      CONNECTIONS_MS,
    );
    return () => clearInterval(timer);
  }, []);
  const variables = { id: brokerId, username };
  const { data, error } = useFresh(ACCOUNT, variables, [revision, tick]);
  const reasonOf = useCapabilityReason();
  const changes = useLastChanges('ACCOUNT', [username]);
  if (!data?.broker) return <Problem error={error} />;
  const { account } = data.broker;
  if (!account) return <NoObject kind="accounts" name={username} />;
  const close = () => setDialog(null);
  const inspect = data.broker.capabilities?.find(({ api }) => api === 'cedalo/inspect');
  return (
    <>
      <ObjectHeader
        kind="accounts"
        name={account.username}
        onEdit={() => setDialog('edit')}
        onDelete={() => setDialog('delete')}
        button={
          <button type="button" className={account.enabled ? 'danger' : undefined} onClick={() => setDialog('enable')}>
            {text(account.enabled ? 'disable' : 'enable')}
          </button>
        }
      >
        <Enabled account={account} />
        <Link href={whyAddress(brokerId, { account: username })}>{text('why')}</Link>
      </ObjectHeader>
      <dl>
        <Names of={account} />
        <dt>{text('onlyClientId')}</dt>
        <dd>{account.clientId ?? text('any')}</dd>
        <dt>{text('groups')}</dt>
        <dd>
          <HeldWords kind="groups" held={groups(account.groups)} />
        </dd>
        <dt>{text('roles')}</dt>
        <dd>
          <HeldWords kind="roles" held={roles(account.roles)} />
        </dd>
        {changes && (
          <>
            <dt>{text('lastChange')}</dt>
            <dd>
              <LastChange changes={changes} name={username} />
            </dd>
          </>
        )}
      </dl>
      <h3>{text('effectiveRules')}</h3>
      <p className="quiet">{text('rulesInOrder')}</p>
      <Rules label={text('effectiveRules')} rules={rulesOf(account)} />
      <h3>{text('connections')}</h3>
      <ClientsOf kind="account" name={username} />
      <Connections account={account} reason={inspect ? reasonOf(inspect) : null} />
      <CopyAs document={ACCOUNT} variables={variables} />
      {dialog === 'edit' && (
        <AccountForm
          account={{ ...account, groups: groups(account.groups), roles: roles(account.roles) }}
          onClose={close}
        />
      )}
      {dialog !== null && dialog !== 'edit' && (
        <ChangeDialog
          title={text(titleOf(dialog, account.enabled), { name: username })}
          action={text(titleOf(dialog, account.enabled), { name: username })}
          isDestructive={dialog === 'delete' || account.enabled}
          changes={[changeOf(dialog, account)]}
          onDone={() => (dialog === 'delete' ? go(accessAddress(brokerId, 'accounts')) : close())}
          onClose={close}
        />
      )}
    </>
  );
}

const titleOf = (dialog: 'enable' | 'delete', isEnabled: boolean) => {
  if (dialog === 'delete') return 'deleteAccount' as const;
  return isEnabled ? ('disableAccount' as const) : ('enableAccount' as const);
};

const changeOf = (dialog: 'enable' | 'delete', { username, enabled }: Account): Change =>
  dialog === 'delete' ? { deleteAccount: { username } } : { setAccountEnabled: { username, enabled: !enabled } };

/** In the order of evaluation: the roles of the account, then those of its groups. */
function rulesOf(account: Account): readonly ListedRule[] {
  const own = account.roles.map((held) => ({ ...held, groupName: null }));
  const joined = account.groups.flatMap(({ groupName, group }) =>
    (group?.roles ?? []).map((held) => ({ ...held, groupName })),
  );
  return [...own, ...joined].flatMap(({ roleName, groupName, role }) =>
    (role?.acls ?? []).map((acl) => ({ ...acl, roleName, groupName })),
  );
}

function Connections({ account, reason }: { readonly account: Account; readonly reason: ReactNode }) {
  const text = useTexts(accessTexts);
  const { brokerId } = useAccess();
  if (account.connections === null) return <p className="note">{reason ?? text('unknownConnections')}</p>;
  if (account.connections.length === 0) return <p>{text('noConnections')}</p>;
  const columns: Column<Connection>[] = [
    {
      key: 'client',
      title: text('client'),
      cell: ({ clientId, isGateway }) => (
        <>
          <Link href={clientPath(brokerId, clientId)}>
            <LongName>{clientId}</LongName>
          </Link>
          {isGateway && <span className="tag">{text('ofThisService')}</span>}
        </>
      ),
      value: ({ clientId }) => clientId,
    },
    { key: 'address', title: text('address'), cell: ({ address }) => address ?? '–' },
    {
      key: 'since',
      title: text('since'),
      cell: ({ lastConnectedAt }) => <Time isRelative={true} at={lastConnectedAt} />,
      value: ({ lastConnectedAt }) => lastConnectedAt,
    },
    {
      key: 'explain',
      title: text('why'),
      cell: ({ clientId }) => (
        <Link
          href={whyAddress(brokerId, { account: account.username, clientId })}
          aria-label={text('whyOf', { name: clientId })}
        >
          {text('why')}
        </Link>
      ),
      value: () => '',
    },
  ];
  return (
    <Table
      label={text('connections')}
      columns={columns}
      rows={account.connections}
      keyOf={({ clientId }) => clientId}
    />
  );
}
