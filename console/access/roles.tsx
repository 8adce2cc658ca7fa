import { ShieldCheck } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { FilterBar, FilterText } from '../ui/filter-bar.tsx';
import { NoMatch } from '../ui/no-match.tsx';
import { Pager, usePage } from '../ui/pager.tsx';
import { Problem } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { useAccess } from './access-context.ts';
import { accessAddress } from './addresses.ts';
import { useFilters } from './filters.tsx';
import { lastChangeColumn, useLastChanges } from './last-changes.tsx';
import { RoleForm } from './role-form.tsx';
import { RolePage } from './role-page.tsx';
import { accessTexts } from './texts.ts';

const ROLES = graphql(`query AccessRoles($id: ID!, $offset: Int!, $filter: AccessRoleFilter!) {
  broker(id: $id) {
    accessRoles(first: 50, offset: $offset, filter: $filter) {
      totalCount
      nodes {
        id
        roleName
        textName
        acls { topic }
        accounts(first: 0) { totalCount }
        groups(first: 0) { totalCount }
      }
    }
  }
}`);

type Listed = NonNullable<NonNullable<ResultOf<typeof ROLES>['broker']>['accessRoles']>['nodes'][number];

/** The roles of a broker, or one of them. */
export function Roles() {
  const filters = useFilters();
  const name = filters.get('name');
  return name === '' ? <RoleList /> : <RolePage key={name} roleName={name} />;
}

function RoleList() {
  const text = useTexts(accessTexts);
  const numberOf = useNumbers();
  const { brokerId, revision, canChange, isLive } = useAccess();
  const filters = useFilters();
  const { page, offset, onPage } = usePage();
  const [isCreating, setCreating] = useState(false);
  const topic = filters.get('topic');
  // The graph filters by one text.
  const filter =
    topic === ''
      ? { target: 'ROLE_NAME' as const, value: filters.get('search') }
      : { target: 'TOPIC' as const, value: topic };
  const variables = { id: brokerId, offset, filter };
  const { data, error } = useFresh(ROLES, variables, revision);
  const roles = data?.broker?.accessRoles;
  const changes = useLastChanges('ROLE', roles?.nodes.map(({ roleName }) => roleName) ?? []);
  const columns: Column<Listed>[] = [
    {
      key: 'role',
      title: text('role'),
      cell: ({ roleName }) => <Link href={accessAddress(brokerId, 'roles', { name: roleName })}>{roleName}</Link>,
      value: ({ roleName }) => roleName,
    },
    { key: 'name', title: text('name'), cell: ({ textName }) => textName ?? '–' },
    { key: 'rules', title: text('rules'), cell: ({ acls }) => numberOf(acls.length), isNumber: true },
    {
      key: 'accounts',
      title: text('accounts'),
      isNumber: true,
      cell: ({ roleName, accounts }) => (
        <Link href={accessAddress(brokerId, 'accounts', { role: roleName })}>{numberOf(accounts.totalCount)}</Link>
      ),
      value: ({ accounts }) => accounts.totalCount,
    },
    {
      key: 'groups',
      title: text('groups'),
      isNumber: true,
      cell: ({ groups }) => numberOf(groups.totalCount),
      value: ({ groups }) => groups.totalCount,
    },
    ...lastChangeColumn<Listed>(text('lastChange'), changes, ({ roleName }) => roleName),
  ];
  const create = canChange && (
    <button type="button" className="primary" onClick={() => setCreating(true)}>
      {text('newRole')}
    </button>
  );
  return (
    <>
      <FilterBar
        keys={['search', 'topic']}
        resets={['page']}
        search={topic === '' ? { name: 'search', label: text('searchRoles') } : undefined}
        actions={!(roles?.totalCount === 0 && filter.value === '') && create}
      >
        <FilterText name="topic" label={text('searchRuleTopics')} />
      </FilterBar>
      {!roles && <Problem error={error} />}
      {roles?.totalCount === 0 &&
        (filter.value === '' ? (
          <Empty icon={ShieldCheck} title={text('noRoles')}>
            {create}
          </Empty>
        ) : (
          <NoMatch title={text('noMatch')} keys={['search', 'topic', 'page']} />
        ))}
      {roles && roles.nodes.length > 0 && (
        <Table
          name="roles"
          label={text('roles')}
          columns={columns}
          rows={roles.nodes}
          keyOf={({ id }) => id}
          isStale={!isLive}
        />
      )}
      {roles && <Pager page={page} total={roles.totalCount} onPage={onPage} />}
      <CopyAs document={ROLES} variables={variables} />
      {isCreating && <RoleForm edited={null} onClose={() => setCreating(false)} />}
    </>
  );
}
