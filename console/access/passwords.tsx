import { Link } from 'wouter';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { useTexts, useTimes } from '../texts/texts.ts';
import { Ago } from '../ui/ago.tsx';
import type { Column } from '../ui/column.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Field } from '../ui/field.tsx';
import { PAGE, Pager } from '../ui/pager.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { useAccess } from './access-context.ts';
import { accessAddress } from './addresses.ts';
import { Enabled } from './enabled.tsx';
import { useFilters } from './filters.tsx';
import { passwordsTexts } from './passwords-texts.ts';

const PASSWORDS = graphql(`query AccountPasswords($id: ID!, $offset: Int!, $before: DateTime) {
  accountPasswords(brokerId: $id, first: 50, offset: $offset, setBefore: $before) {
    totalCount
    recordedSince
    partEntries
    nodes { setAt account { username enabled isGateway } }
  }
}`);

type Listed = ResultOf<typeof PASSWORDS>['accountPasswords']['nodes'][number];

const DAYS = [90, 180, 365] as const;
const DAY_MS = 86_400_000;

/** The accounts by the age of their passwords. */
export function Passwords() {
  const text = useTexts(passwordsTexts);
  const timeOf = useTimes();
  const { brokerId, revision } = useAccess();
  const filters = useFilters();
  const days = DAYS.find((one) => String(one) === filters.get('older'));
  // A whole day, so that the query stays the same while the screen is open.
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const variables = {
    id: brokerId,
    offset: (filters.page - 1) * PAGE,
    before: days === undefined ? null : new Date(today - days * DAY_MS).toISOString(),
  };
  const { data, error } = useFresh(PASSWORDS, variables, revision);
  const page = data?.accountPasswords;
  const columns: Column<Listed>[] = [
    {
      key: 'account',
      title: text('account'),
      cell: ({ account }) => (
        <Link href={accessAddress(brokerId, 'accounts', { name: account?.username })}>{account?.username}</Link>
      ),
      value: ({ account }) => account?.username,
    },
    {
      key: 'enabled',
      title: text('enabled'),
      cell: ({ account }) => account && <Enabled account={account} />,
      value: ({ account }) => account?.enabled,
    },
    {
      key: 'setAt',
      title: text('setAt'),
      cell: ({ setAt }) => (setAt === null ? <span className="quiet">{text('unknownAge')}</span> : <Ago at={setAt} />),
      value: ({ setAt }) => setAt,
    },
  ];
  return (
    <>
      <Field label={text('age')}>
        <select value={days ?? ''} onChange={({ currentTarget: { value } }) => filters.set('older', value)}>
          <option value="">{text('anyAge')}</option>
          {DAYS.map((one) => (
            <option key={one} value={one}>
              {text('olderThan', { days: one })}
            </option>
          ))}
        </select>
      </Field>
      <Refusal error={data === null ? null : error} />
      {!page && <Problem error={error} />}
      {page && (
        <>
          <p className="quiet">
            {text('passwordsSince', { time: page.recordedSince === null ? '–' : timeOf(page.recordedSince) })}{' '}
            {text('unknownMeans')}
          </p>
          {page.partEntries > 0 && <p className="note">{text('parts', { count: page.partEntries })}</p>}
          {page.totalCount === 0 && <p>{text('noOldPassword')}</p>}
          {page.nodes.length > 0 && (
            <Table
              label={text('passwordAges')}
              columns={columns}
              rows={page.nodes}
              keyOf={({ account }) => account?.username ?? ''}
            />
          )}
          <Pager page={filters.page} total={page.totalCount} onPage={(next) => filters.set('page', String(next))} />
        </>
      )}
      <CopyAs document={PASSWORDS} variables={variables} />
    </>
  );
}
