import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Pager, usePage } from '../ui/pager.tsx';
import { Problem } from '../ui/problem.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { Table } from '../ui/table.tsx';
import { useAccess } from './access-context.ts';
import { AddMember } from './add-member.tsx';
import { accessAddress } from './addresses.ts';
import type { Change } from './change.ts';
import { ChangeDialog } from './change-dialog.tsx';
import { ClientsOf } from './clients-of.tsx';
import { GroupForm } from './group-form.tsx';
import { HeldWords, roles } from './held-words.tsx';
import { LastChange, useLastChanges } from './last-changes.tsx';
import { Names } from './names.tsx';
import { NoObject, ObjectHeader } from './object-header.tsx';
import { accessTexts } from './texts.ts';

const GROUP = graphql(`query AccessGroup($id: ID!, $groupName: String!, $offset: Int!) {
  broker(id: $id) {
    accessGroup(groupName: $groupName) {
      groupName
      textName
      textDescription
      isAnonymousGroup
      roles { roleName priority }
      accounts(first: 50, offset: $offset) { totalCount edges { priority node { username textName } } }
    }
  }
}`);

type Group = NonNullable<NonNullable<ResultOf<typeof GROUP>['broker']>['accessGroup']>;
type Member = Group['accounts']['edges'][number];

interface Asked {
  readonly title: string;
  readonly change: Change;
  readonly isDestructive?: boolean;
  readonly leaves?: boolean;
}

/** One group with its roles and members. */
export function GroupPage({ groupName }: { readonly groupName: string }) {
  const text = useTexts(accessTexts);
  const [, go] = useLocation();
  const { brokerId, revision, canChange, isLive } = useAccess();
  const { page, offset, onPage } = usePage();
  const [isEditing, setEditing] = useState(false);
  const [asked, setAsked] = useState<Asked | null>(null);
  const variables = { id: brokerId, groupName, offset };
  const { data, error } = useFresh(GROUP, variables, revision);
  const changes = useLastChanges('GROUP', [groupName]);
  if (!data?.broker) return <Problem error={error} />;
  const group = data.broker.accessGroup;
  if (!group) return <NoObject kind="groups" name={groupName} />;
  const columns: Column<Member>[] = [
    {
      key: 'account',
      title: text('account'),
      cell: ({ node: { username } }) => (
        <Link href={accessAddress(brokerId, 'accounts', { name: username })}>{username}</Link>
      ),
      value: ({ node: { username } }) => username,
    },
    { key: 'name', title: text('name'), cell: ({ node: { textName } }) => textName ?? '–' },
    { key: 'priority', title: text('priority'), cell: ({ priority }) => priority, isNumber: true },
  ];
  if (canChange) {
    columns.push({
      key: 'actions',
      title: text('actions'),
      cell: ({ node: { username } }) => (
        <RowMenu name={username}>
          <button
            type="button"
            className="danger"
            onClick={() =>
              setAsked({
                title: text('removeMember', { name: username, group: groupName }),
                isDestructive: true,
                change: { removeAccountGroup: { username, groupName } },
              })
            }
          >
            {text('removeName', { name: username })}
          </button>
        </RowMenu>
      ),
    });
  }
  return (
    <>
      <ObjectHeader
        kind="groups"
        name={group.groupName}
        onEdit={() => setEditing(true)}
        onDelete={() =>
          setAsked({
            title: text('deleteGroup', { name: groupName }),
            isDestructive: true,
            change: { deleteAccessGroup: { groupName } },
            leaves: true,
          })
        }
      >
        {group.isAnonymousGroup && <span className="quiet">{text('anonymousGroup')}</span>}
      </ObjectHeader>
      <dl>
        <Names of={group} />
        <dt>{text('roles')}</dt>
        <dd>
          <HeldWords kind="roles" held={roles(group.roles)} />
        </dd>
        {changes && (
          <>
            <dt>{text('lastChange')}</dt>
            <dd>
              <LastChange changes={changes} name={groupName} />
            </dd>
          </>
        )}
      </dl>
      <ClientsOf kind="group" name={groupName} />
      <h3>{text('members')}</h3>
      {canChange && (
        <AddMember
          onAdd={(username, priority) =>
            setAsked({
              title: text('addMember', { name: username, group: groupName }),
              change: { addAccountGroup: { username, groupName, priority } },
            })
          }
        />
      )}
      {group.accounts.totalCount === 0 && <p>{text('noMembers')}</p>}
      {group.accounts.edges.length > 0 && (
        <Table
          label={text('members')}
          columns={columns}
          rows={group.accounts.edges}
          keyOf={({ node: { username } }) => username}
          isStale={!isLive}
        />
      )}
      <Pager page={page} total={group.accounts.totalCount} onPage={onPage} />
      <CopyAs document={GROUP} variables={variables} />
      {isEditing && <GroupForm group={{ ...group, roles: roles(group.roles) }} onClose={() => setEditing(false)} />}
      {asked && (
        <ChangeDialog
          title={asked.title}
          action={asked.title}
          isDestructive={asked.isDestructive}
          changes={[asked.change]}
          onDone={() => (asked.leaves ? go(accessAddress(brokerId, 'groups')) : setAsked(null))}
          onClose={() => setAsked(null)}
        />
      )}
    </>
  );
}
