import { useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { InvitePerson } from '../project/invite-person.tsx';
import { useTexts } from '../texts/texts.ts';
import { useAddressValues } from '../ui/address-values.ts';
import type { Column } from '../ui/column.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { FilterBar, FilterSelect } from '../ui/filter-bar.tsx';
import { NoMatch } from '../ui/no-match.tsx';
import { PageHeading } from '../ui/page-heading.tsx';
import { Pager, usePage } from '../ui/pager.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { useOpened } from '../ui/use-opened.ts';
import { CreatePerson } from './create-person.tsx';
import { secondFactorOf } from './managed-person.ts';
import { peopleTexts } from './texts.ts';

const PEOPLE = graphql(`query People($filter: UserFilter, $offset: Int!) {
  users(filter: $filter, first: 50, offset: $offset, orderBy: { field: EMAIL }) {
    totalCount
    nodes {
      id name email isRootAdmin ssoType hasSecondFactor isSecondFactorRequired invitedUntil projectCount createdAt
    }
  }
}`);

type Listed = ResultOf<typeof PEOPLE>['users']['nodes'][number];

export function PeopleList() {
  const text = useTexts(peopleTexts);
  const [search] = useSearchParams();
  const { page, offset, onPage } = usePage();
  const [isCreating, setCreating] = useState(false);
  const [isInviting, setInviting] = useOpened('invite');
  const { set } = useAddressValues();
  const found = search.get('find') ?? '';
  const isRootAdmin = search.has('administrators');
  const variables = {
    offset,
    filter: { ...(found !== '' && { text: found }), ...(isRootAdmin && { isRootAdmin }) },
  };
  const { data, error, renew } = useQuery(PEOPLE, variables);
  const columns: Column<Listed>[] = [
    {
      key: 'email',
      title: text('emailAddress'),
      cell: ({ id, email }) => <Link href={`/people/${id}`}>{email}</Link>,
      value: ({ email }) => email,
    },
    { key: 'name', title: text('name'), cell: ({ name }) => name },
    { key: 'role', title: text('role'), cell: (one) => text(one.isRootAdmin ? 'rootAdministrator' : 'person') },
    {
      key: 'provider',
      title: text('signsInBy'),
      cell: ({ ssoType, invitedUntil }) =>
        invitedUntil ? (
          <>
            {text('invitedUntil')} <Time at={invitedUntil} />
          </>
        ) : (
          (ssoType ?? text('password'))
        ),
      value: ({ ssoType, invitedUntil }) => invitedUntil ?? ssoType ?? text('password'),
    },
    {
      key: 'secondFactor',
      title: text('secondFactor'),
      cell: (one) => text(secondFactorOf(one)),
    },
    {
      key: 'projects',
      title: text('ownProjects'),
      isNumber: true,
      cell: ({ projectCount }) => projectCount,
    },
    {
      key: 'created',
      title: text('created'),
      cell: ({ createdAt }) => <Time isRelative={true} at={createdAt} />,
      value: ({ createdAt }) => createdAt,
    },
  ];
  return (
    <>
      <header className="screen">
        <PageHeading>{text('people')}</PageHeading>
        <button type="button" onClick={() => setCreating(true)}>
          {text('createPerson')}
        </button>
        <button type="button" className="primary" onClick={() => setInviting(true)}>
          {text('invite')}
        </button>
        <CopyAs document={PEOPLE} variables={variables} />
      </header>
      <FilterBar
        keys={['find', 'administrators']}
        resets={['page']}
        search={{ name: 'find', label: text('findPerson') }}
      >
        <FilterSelect
          name="administrators"
          label={text('role')}
          any={text('any')}
          options={[['only', text('rootAdministrator')]]}
        />
      </FilterBar>
      {data === null ? <Problem error={error} /> : <Refusal error={error} />}
      {data && (
        <>
          {data.users.nodes.length === 0 ? (
            <NoMatch title={text('noPerson')} keys={['find', 'administrators', 'page']} />
          ) : (
            <Table
              name="people"
              label={text('people')}
              columns={columns}
              rows={data.users.nodes}
              keyOf={({ id }) => id}
            />
          )}
          <Pager page={page} total={data.users.totalCount} onPage={onPage} />
        </>
      )}
      {isCreating && <CreatePerson onCreated={renew} onClose={() => setCreating(false)} />}
      {isInviting && <InvitePerson onInvited={renew} onClose={() => set({ new: '', email: '' })} />}
    </>
  );
}
