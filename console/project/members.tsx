import { UserRound } from 'lucide-react';
import { useState } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useViewer } from '../session/viewer.ts';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { CursorPager, rangeOf, useCursor } from '../ui/pager.tsx';
import { Problem } from '../ui/problem.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { AddMember } from './add-member.tsx';
import { ChangeMember, type MemberChange } from './change-member.tsx';
import { InvitePerson } from './invite-person.tsx';
import { inviteTexts } from './invite-texts.ts';
import { memberTexts } from './member-texts.ts';
import { useProject } from './project-context.ts';
import { RoleSelect } from './role-select.tsx';

const MEMBERS = graphql(`query Members($id: ID!, $first: Int, $after: String, $last: Int, $before: String) {
  project(id: $id) {
    owner { name }
    members(first: $first, after: $after, last: $last, before: $before) {
      totalCount
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      nodes { createdAt role user { id name email isRootAdmin } }
    }
    tokens { issuer }
    viewerCanManageMembers
  }
}`);

type Member = NonNullable<NonNullable<ResultOf<typeof MEMBERS>['project']>['members']>['nodes'][number];

/** Other administrators change members, too. */
const EVERY_MS = 10_000;

/** Who has which role in a project. */
export function Members() {
  const text = useTexts(memberTexts);
  const inviteText = useTexts(inviteTexts);
  const { id } = useProject();
  const { isRootAdmin } = useViewer();
  const [isInviting, setInviting] = useState(false);
  const { cursor, onCursor } = useCursor();
  const variables = { id, ...rangeOf(cursor) };
  const { data, error, renew } = useQuery(MEMBERS, variables, EVERY_MS);
  const [change, setChange] = useState<MemberChange | null>(null);
  const found = data?.project;
  if (!found?.members) return <Problem error={error} />;
  const { members, viewerCanManageMembers: canManage } = found;
  const tokensOf = (email: string) => found.tokens.filter(({ issuer }) => issuer === email).length;
  const changeOf = ({ user, role }: Member, newRole: MemberChange['newRole']): MemberChange => ({
    email: user.email,
    isRootAdmin: user.isRootAdmin,
    role,
    newRole,
    tokens: tokensOf(user.email),
  });
  const columns: Column<Member>[] = [
    { key: 'email', title: text('email'), cell: ({ user }) => user.email },
    { key: 'name', title: text('name'), cell: ({ user }) => user.name },
    {
      key: 'role',
      title: text('role'),
      cell: (member) =>
        canManage ? (
          <RoleSelect
            label={text('roleOf', { email: member.user.email })}
            value={member.role}
            onChange={(role) => setChange(changeOf(member, role))}
          />
        ) : (
          text(member.role)
        ),
      value: ({ role }) => role,
    },
    {
      key: 'since',
      title: text('since'),
      cell: ({ createdAt }) => <Time isRelative={true} at={createdAt} />,
      value: ({ createdAt }) => createdAt,
    },
  ];
  const actions: Column<Member> = {
    key: 'actions',
    title: text('actions'),
    cell: (member) => (
      <RowMenu name={member.user.email}>
        <button type="button" className="danger" onClick={() => setChange(changeOf(member, null))}>
          {text('removeOf', { email: member.user.email })}
        </button>
      </RowMenu>
    ),
  };
  return (
    <>
      <p className="quiet">{text('ownerIs', { owner: found.owner.name })}</p>
      {canManage && <AddMember projectId={id} onAdded={renew} />}
      {canManage && isRootAdmin && (
        <p>
          {text('newPerson')}{' '}
          <button type="button" onClick={() => setInviting(true)}>
            {inviteText('invite')}
          </button>
        </p>
      )}
      {isInviting && <InvitePerson projectId={id} onInvited={renew} onClose={() => setInviting(false)} />}
      {members.nodes.length === 0 && <Empty icon={UserRound} title={text('noMembers')} />}
      {members.nodes.length > 0 && (
        <Table
          label={text('members')}
          columns={canManage ? [...columns, actions] : columns}
          rows={members.nodes}
          keyOf={({ user }) => user.id}
        />
      )}
      <CursorPager cursor={cursor} total={members.totalCount} pageInfo={members.pageInfo} onCursor={onCursor} />
      <CopyAs document={MEMBERS} variables={variables} />
      {change && (
        <ChangeMember
          projectId={id}
          change={change}
          onDone={() => {
            setChange(null);
            renew();
          }}
          onClose={() => setChange(null)}
        />
      )}
    </>
  );
}
