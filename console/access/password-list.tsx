import { Link } from 'wouter';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { FilterBar, FilterSelect } from '../ui/filter-bar.tsx';
import { Time } from '../ui/time.tsx';
import { accessAddress } from './addresses.ts';
import { Enabled } from './enabled.tsx';
import { useFilters } from './filters.tsx';
import { passwordsTexts } from './passwords-texts.ts';

export const PASSWORDS = graphql(`query AccountPasswords($id: ID!, $offset: Int!, $before: DateTime) {
  accountPasswords(brokerId: $id, first: 50, offset: $offset, setBefore: $before) {
    totalCount
    recordedSince
    partEntries
    nodes { setAt account { username enabled isGateway } }
  }
}`);

export type Listed = ResultOf<typeof PASSWORDS>['accountPasswords']['nodes'][number];

const DAYS = [90, 180, 365] as const;
const DAY_MS = 86_400_000;

/** The age in the address: its days, if any, and the time before which passwords were set. */
export function useAge() {
  const filters = useFilters();
  const days = DAYS.find((one) => String(one) === filters.get('older'));
  // A whole day, so that the query stays the same while the screen is open.
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  return { days, before: days === undefined ? null : new Date(today - days * DAY_MS).toISOString() };
}

export function AgeFilter() {
  const text = useTexts(passwordsTexts);
  return (
    <FilterBar keys={['older']} resets={['page']}>
      <FilterSelect
        name="older"
        label={text('age')}
        any={text('anyAge')}
        options={DAYS.map((days) => [String(days), text('olderThan', { days })])}
      />
    </FilterBar>
  );
}

export function usePasswordColumns<Row extends Listed>(brokerIdOf: (row: Row) => string): Column<Row>[] {
  const text = useTexts(passwordsTexts);
  return [
    {
      key: 'account',
      title: text('account'),
      cell: (row) => (
        <Link href={accessAddress(brokerIdOf(row), 'accounts', { name: row.account?.username })}>
          {row.account?.username}
        </Link>
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
      cell: ({ setAt }) =>
        setAt === null ? <span className="quiet">{text('unknownAge')}</span> : <Time isRelative={true} at={setAt} />,
      value: ({ setAt }) => setAt,
    },
  ];
}
