import { RadioTower, UserRound } from 'lucide-react';
import { useId, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { FilterBar, FilterSelect, FilterText } from '../ui/filter-bar.tsx';
import { Pager, usePage } from '../ui/pager.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { useAccess } from './access-context.ts';
import { AccountForm } from './account-form.tsx';
import { AccountPage } from './account-page.tsx';
import { accessAddress, giveAccessAddress, whyAddress } from './addresses.ts';
import { useChoice } from './choice.tsx';
import { Enabled } from './enabled.tsx';
import { useFilters } from './filters.tsx';
import { groups, HeldWords, inText, roles } from './held-words.tsx';
import { lastChangeColumn, useLastChanges } from './last-changes.tsx';
import { Suggestions } from './suggestions.tsx';
import { accessTexts } from './texts.ts';

const ACCOUNTS = graphql(`query Accounts($id: ID!, $offset: Int!, $filter: AccountFilter, $orderBy: AccountOrder) {
  broker(id: $id) {
    accounts(first: 50, offset: $offset, filter: $filter, orderBy: $orderBy) {
      totalCount
      nodes {
        id
        username
        clientId
        enabled
        textName
        isGateway
        roles { roleName priority }
        groups { groupName priority }
      }
    }
  }
}`);

type Listed = NonNullable<NonNullable<ResultOf<typeof ACCOUNTS>['broker']>['accounts']>['nodes'][number];

/** The accounts of a broker, or one of them. */
export function Accounts() {
  const filters = useFilters();
  const name = filters.get('name');
  return name === '' ? <AccountList /> : <AccountPage key={name} username={name} />;
}

function AccountList() {
  const text = useTexts(accessTexts);
  const { brokerId, revision, canChange, isLive } = useAccess();
  const filters = useFilters();
  const { page, offset, onPage } = usePage();
  const [, go] = useLocation();
  const [groupList, roleList] = [useId(), useId()];
  const [isCreating, setCreating] = useState(false);
  const enabled = filters.get('enabled');
  const group = filters.get('group');
  const role = filters.get('role');
  const order = filters.get('sort') === 'desc' ? ('DESC' as const) : ('ASC' as const);
  const filter = {
    search: filters.get('search'),
    ...(enabled !== '' && { enabled: enabled === 'yes' }),
    ...(group !== '' && { groupName: group }),
    ...(role !== '' && { roleName: role }),
  };
  const variables = {
    id: brokerId,
    offset,
    filter,
    orderBy: { field: 'USERNAME' as const, order },
  };
  const { data, error } = useFresh(ACCOUNTS, variables, revision);
  const accounts = data?.broker?.accounts;
  const changes = useLastChanges('ACCOUNT', accounts?.nodes.map(({ username }) => username) ?? []);
  const choice = useChoice(accounts?.nodes ?? []);
  const columns: Column<Listed>[] = [
    ...(canChange ? [choice.column] : []),
    {
      key: 'account',
      title: text('account'),
      cell: ({ username }) => <Link href={accessAddress(brokerId, 'accounts', { name: username })}>{username}</Link>,
      value: ({ username }) => username,
      sort: { direction: order, onSort: () => filters.set('sort', order === 'ASC' ? 'desc' : '') },
    },
    { key: 'name', title: text('name'), cell: ({ textName }) => textName ?? '–' },
    {
      key: 'client',
      title: text('onlyClientId'),
      cell: ({ clientId }) => clientId ?? <span className="quiet">{text('any')}</span>,
      value: ({ clientId }) => clientId ?? text('any'),
    },
    {
      key: 'enabled',
      title: text('enabled'),
      cell: (account) => <Enabled account={account} />,
      value: (account) => account.enabled,
    },
    {
      key: 'groups',
      title: text('groups'),
      cell: (account) => <HeldWords kind="groups" held={groups(account.groups)} />,
      value: (account) => inText(groups(account.groups)),
    },
    {
      key: 'roles',
      title: text('roles'),
      cell: (account) => <HeldWords kind="roles" held={roles(account.roles)} />,
      value: (account) => inText(roles(account.roles)),
    },
    ...lastChangeColumn<Listed>(text('lastChange'), changes, ({ username }) => username),
    {
      key: 'explain',
      title: text('why'),
      cell: ({ username }) => (
        <Link href={whyAddress(brokerId, { account: username })} aria-label={text('whyOf', { name: username })}>
          {text('why')}
        </Link>
      ),
      value: () => '',
    },
  ];
  const isFiltered = filter.search !== '' || Object.keys(filter).length > 1;
  return (
    <>
      <FilterBar
        keys={['search', 'group', 'role', 'enabled']}
        resets={['page']}
        search={{ name: 'search', label: text('searchAccounts') }}
        actions={
          canChange && (
            <>
              <button type="button" onClick={() => setCreating(true)}>
                {text('newAccount')}
              </button>
              <button type="button" className="primary" onClick={() => go(giveAccessAddress(brokerId))}>
                <RadioTower aria-hidden="true" /> {text('giveAccess')}
              </button>
            </>
          )
        }
      >
        <FilterText name="group" label={text('filterGroup')} list={groupList} />
        <Suggestions id={groupList} kind="groups" typed={group} />
        <FilterText name="role" label={text('filterRole')} list={roleList} />
        <Suggestions id={roleList} kind="roles" typed={role} />
        <FilterSelect
          name="enabled"
          label={text('enabled')}
          any={text('any')}
          options={[
            ['yes', text('yes')],
            ['no', text('no')],
          ]}
        />
      </FilterBar>
      <Refusal error={data === null ? null : error} />
      {!accounts && <Problem error={error} />}
      {accounts && accounts.totalCount === 0 && (
        <Empty icon={UserRound} title={text(isFiltered ? 'noMatch' : 'noAccounts')}>
          {!isFiltered && <CommandToCopy command="mosquitto_ctrl -u admin dynsec createClient meter-1" />}
        </Empty>
      )}
      {accounts && accounts.nodes.length > 0 && (
        <Table
          name="accounts"
          label={text('accounts')}
          columns={columns}
          rows={accounts.nodes}
          keyOf={({ id }) => id}
          selection={canChange && choice.bar}
          isStale={!isLive}
        />
      )}
      {accounts && <Pager page={page} total={accounts.totalCount} onPage={onPage} />}
      <CopyAs document={ACCOUNTS} variables={variables} />
      {choice.dialog}
      {isCreating && <AccountForm account={null} onClose={() => setCreating(false)} />}
    </>
  );
}
