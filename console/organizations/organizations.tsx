import { Building2 } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Empty } from '../ui/empty.tsx';
import { Field } from '../ui/field.tsx';
import { PageHeading } from '../ui/page-heading.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { organizationTexts } from './texts.ts';

const ORGANIZATIONS = graphql(`query Organizations {
  organizations(first: 100) {
    nodes { id name createdAt members(first: 100) { nodes { role createdAt user { id email name } } } }
  }
}`);
const CREATE = graphql(`mutation CreateOrganization($input: CreateOrganizationInput!) {
  createOrganization(input: $input) { organization { id } }
}`);
const DELETE = graphql(`mutation DeleteOrganization($input: DeleteOrganizationInput!) {
  deleteOrganization(input: $input) { __typename }
}`);
const SET_MEMBER = graphql(`mutation SetOrganizationMember($input: SetOrganizationMemberInput!) {
  setOrganizationMember(input: $input) { organization { id } }
}`);
const REMOVE_MEMBER = graphql(`mutation RemoveOrganizationMember($input: RemoveOrganizationMemberInput!) {
  removeOrganizationMember(input: $input) { organization { id } }
}`);

type Organization = ResultOf<typeof ORGANIZATIONS>['organizations']['nodes'][number];

const ROLES = ['MEMBER', 'OWNER'] as const;

/** The organizations of the person, with their members. */
export function Organizations() {
  const text = useTexts(organizationTexts);
  const { data, error, renew } = useQuery(ORGANIZATIONS, {});
  const { run, isBusy, error: refusal } = useMutation(CREATE);
  const [name, setName] = useState('');
  const create = async (event: FormEvent) => {
    event.preventDefault();
    if ((await run({ input: { name } })) === null) return;
    setName('');
    renew();
  };
  return (
    <>
      <header className="screen">
        <PageHeading>{text('organizations')}</PageHeading>
      </header>
      <p>{text('organizationsMean')}</p>
      <form className="line" onSubmit={(event) => void create(event)}>
        <Field label={text('name')}>
          <input
            value={name}
            required={true}
            maxLength={200}
            onInput={({ currentTarget: { value } }) => setName(value)}
          />
        </Field>
        <button type="submit" disabled={isBusy}>
          {text('create')}
        </button>
        <Refusal error={refusal} />
      </form>
      {data === null && <Problem error={error} />}
      {data?.organizations.nodes.length === 0 && <Empty icon={Building2} title={text('noOrganizations')} />}
      {data?.organizations.nodes.map((one) => (
        <Members key={one.id} organization={one} onChanged={renew} />
      ))}
    </>
  );
}

/** The service refuses changes of persons who are no owners. */
function Members({ organization, onChanged }: { readonly organization: Organization; readonly onChanged: () => void }) {
  const text = useTexts(organizationTexts);
  const { id, name, createdAt, members } = organization;
  const set = useMutation(SET_MEMBER);
  const remove = useMutation(REMOVE_MEMBER);
  const deletion = useMutation(DELETE);
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<(typeof ROLES)[number]>('MEMBER');
  /** The member to remove, or the whole organization. */
  const [removed, setRemoved] = useState<{ readonly email: string | null } | null>(null);
  const add = async (event: FormEvent) => {
    event.preventDefault();
    if ((await set.run({ input: { organizationId: id, email, role } })) === null) return;
    setEmail('');
    onChanged();
  };
  const confirm = async ({ email: member }: NonNullable<typeof removed>) => {
    const done =
      member === null
        ? await deletion.run({ input: { organizationId: id } })
        : await remove.run({ input: { organizationId: id, email: member } });
    if (done === null) return;
    setRemoved(null);
    onChanged();
  };
  return (
    <section className="card" aria-label={name}>
      <h2>{name}</h2>
      <p className="quiet">
        {text('createdAt')} <Time isRelative={true} at={createdAt} />
      </p>
      <Table
        label={text('membersOf', { name })}
        rows={members.nodes}
        keyOf={({ user }) => user.id}
        columns={[
          { key: 'email', title: text('email'), cell: ({ user }) => user.email },
          { key: 'name', title: text('name'), cell: ({ user }) => user.name },
          { key: 'role', title: text('role'), cell: (member) => text(member.role) },
          {
            key: 'since',
            title: text('since'),
            cell: (member) => <Time isRelative={true} at={member.createdAt} />,
            value: (member) => member.createdAt,
          },
          {
            key: 'actions',
            title: text('actions'),
            cell: ({ user }) => (
              <RowMenu name={user.email}>
                <button type="button" className="danger" onClick={() => setRemoved(user)}>
                  {text('removeMember', user)}
                </button>
              </RowMenu>
            ),
          },
        ]}
      />
      <form className="line" onSubmit={(event) => void add(event)}>
        <Field label={text('email')}>
          <input
            type="email"
            required={true}
            autoComplete="off"
            value={email}
            onInput={({ currentTarget: { value } }) => setEmail(value)}
          />
        </Field>
        <Field label={text('role')}>
          <select
            value={role}
            onChange={({ currentTarget: { value } }) => setRole(ROLES.find((one) => one === value) ?? role)}
          >
            {ROLES.map((one) => (
              <option key={one} value={one}>
                {text(one)}
              </option>
            ))}
          </select>
        </Field>
        <button type="submit" disabled={set.isBusy}>
          {text('setMember')}
        </button>
        <Refusal error={set.error} />
      </form>
      <button type="button" className="danger" onClick={() => setRemoved({ email: null })}>
        {text('deleteOf', { name })} …
      </button>
      {removed && (
        <Confirmation
          title={removed.email === null ? text('deleteOf', { name }) : text('removeMember', { email: removed.email })}
          action={removed.email === null ? text('deleteOf', { name }) : text('remove')}
          isDestructive={true}
          isBusy={remove.isBusy || deletion.isBusy}
          error={remove.error ?? deletion.error}
          onConfirm={() => void confirm(removed)}
          onClose={() => setRemoved(null)}
        >
          <p>{text(removed.email === null ? 'deleteMeans' : 'removeMemberMeans')}</p>
        </Confirmation>
      )}
    </section>
  );
}
