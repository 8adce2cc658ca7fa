import { UsersRound } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { FilterBar } from '../ui/filter-bar.tsx';
import { NoMatch } from '../ui/no-match.tsx';
import { Pager, usePage } from '../ui/pager.tsx';
import { Problem } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { useAccess } from './access-context.ts';
import { accessAddress } from './addresses.ts';
import { useFilters } from './filters.tsx';
import { GroupForm } from './group-form.tsx';
import { GroupPage } from './group-page.tsx';
import { HeldWords, inText, roles } from './held-words.tsx';
import { lastChangeColumn, useLastChanges } from './last-changes.tsx';
import { accessTexts } from './texts.ts';

const GROUPS = graphql(`query AccessGroups($id: ID!, $offset: Int!, $search: String!) {
  broker(id: $id) {
    accessGroups(first: 50, offset: $offset, filter: { value: $search }) {
      totalCount
      nodes {
        id
        groupName
        textName
        isAnonymousGroup
        roles { roleName priority }
        accounts(first: 0) { totalCount }
      }
    }
  }
}`);

type Listed = NonNullable<NonNullable<ResultOf<typeof GROUPS>['broker']>['accessGroups']>['nodes'][number];

/** The groups of a broker, or one of them. */
export function Groups() {
  const filters = useFilters();
  const name = filters.get('name');
  return name === '' ? <GroupList /> : <GroupPage key={name} groupName={name} />;
}

function GroupList() {
  const text = useTexts(accessTexts);
  const numberOf = useNumbers();
  const { brokerId, revision, canChange, isLive } = useAccess();
  const filters = useFilters();
  const { page, offset, onPage } = usePage();
  const [isCreating, setCreating] = useState(false);
  const variables = { id: brokerId, offset, search: filters.get('search') };
  const { data, error } = useFresh(GROUPS, variables, revision);
  const groups = data?.broker?.accessGroups;
  const changes = useLastChanges('GROUP', groups?.nodes.map(({ groupName }) => groupName) ?? []);
  const columns: Column<Listed>[] = [
    {
      key: 'group',
      title: text('group'),
      cell: ({ groupName, isAnonymousGroup }) => (
        <>
          <Link href={accessAddress(brokerId, 'groups', { name: groupName })}>{groupName}</Link>
          {isAnonymousGroup && <span className="quiet"> {text('anonymousGroup')}</span>}
        </>
      ),
      value: ({ groupName }) => groupName,
    },
    { key: 'name', title: text('name'), cell: ({ textName }) => textName ?? '–' },
    {
      key: 'members',
      title: text('accounts'),
      isNumber: true,
      cell: ({ groupName, accounts }) => (
        <Link href={accessAddress(brokerId, 'accounts', { group: groupName })}>{numberOf(accounts.totalCount)}</Link>
      ),
      value: ({ accounts }) => accounts.totalCount,
    },
    {
      key: 'roles',
      title: text('roles'),
      cell: (group) => <HeldWords kind="roles" held={roles(group.roles)} />,
      value: (group) => inText(roles(group.roles)),
    },
    ...lastChangeColumn<Listed>(text('lastChange'), changes, ({ groupName }) => groupName),
  ];
  const create = canChange && (
    <button type="button" className="primary" onClick={() => setCreating(true)}>
      {text('newGroup')}
    </button>
  );
  return (
    <>
      <FilterBar
        keys={['search']}
        resets={['page']}
        search={{ name: 'search', label: text('searchGroups') }}
        actions={!(groups?.totalCount === 0 && variables.search === '') && create}
      />
      {!groups && <Problem error={error} />}
      {groups?.totalCount === 0 &&
        (variables.search === '' ? (
          <Empty icon={UsersRound} title={text('noGroups')}>
            {create}
          </Empty>
        ) : (
          <NoMatch title={text('noMatch')} keys={['search', 'page']} />
        ))}
      {groups && groups.nodes.length > 0 && (
        <Table
          name="groups"
          label={text('groups')}
          columns={columns}
          rows={groups.nodes}
          keyOf={({ id }) => id}
          isStale={!isLive}
        />
      )}
      {groups && <Pager page={page} total={groups.totalCount} onPage={onPage} />}
      <CopyAs document={GROUPS} variables={variables} />
      {isCreating && <GroupForm group={null} onClose={() => setCreating(false)} />}
    </>
  );
}
