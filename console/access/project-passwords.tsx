import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { ask } from '../graph/ask.ts';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useProject } from '../project/project-context.ts';
import { useTexts } from '../texts/texts.ts';
import { AsSent } from '../ui/as-sent.tsx';
import type { Column } from '../ui/column.ts';
import { PAGE, Pager, usePage } from '../ui/pager.tsx';
import { Problem } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { accessAddress } from './addresses.ts';
import { AgeFilter, type Listed, PASSWORDS, useAge, usePasswordColumns } from './password-list.tsx';
import { passwordsTexts } from './passwords-texts.ts';

const BROKERS = graphql(`query PasswordBrokers($project: ID!, $offset: Int!) {
  project(id: $project) { brokers(first: 50, offset: $offset) { totalCount nodes { id name } } }
}`);

/** Each broker is asked for its accounts. */
const MAX_RUNNING = 4;

interface Place {
  readonly id: string;
  readonly name: string;
}

interface Found {
  readonly broker: Place;
  readonly listed: readonly Listed[];
  /** Accounts that only the list of the broker has. */
  readonly others: number;
  readonly parts: number;
  /** Why the accounts are not known. */
  readonly failure: string | null;
}

type Row = Listed & { readonly broker: Place };

/** The accounts of all brokers of a project by the age of their passwords: unknown ones first, then the oldest. */
export function ProjectPasswords() {
  const text = useTexts(passwordsTexts);
  const { id: project } = useProject();
  const age = useAge();
  const { before, days } = age;
  const { page, offset, onPage } = usePage();
  const { data, error } = useQuery(BROKERS, { project, offset });
  const brokers = data?.project?.brokers;
  const { found, isComplete } = useFound(brokers?.nodes ?? null, before);
  const columns: Column<Row>[] = [
    ...usePasswordColumns<Row>(({ broker }) => broker.id),
    {
      key: 'broker',
      title: text('broker'),
      cell: ({ broker }) => <Link href={listOf(broker, days)}>{broker.name}</Link>,
      value: ({ broker }) => broker.name,
    },
  ];
  if (!brokers) return <Problem error={error} />;
  const rows = found
    .flatMap(({ broker, listed }) => listed.map((one) => ({ ...one, broker })))
    .sort((one, other) => (one.setAt ?? '').localeCompare(other.setAt ?? ''));
  const parts = found.reduce((sum, one) => sum + one.parts, 0);
  const notes = found.flatMap(({ broker, others, failure }) => [
    ...(others > 0 ? [{ broker, key: 'others', note: text('furtherAccounts', { count: others }) }] : []),
    ...(failure === null ? [] : [{ broker, key: 'failure', note: <AsSent key={broker.id}>{failure}</AsSent> }]),
  ]);
  return (
    <div aria-busy={!isComplete}>
      <AgeFilter />
      <p className="quiet">{text('unknownMeans')}</p>
      {parts > 0 && <p className="note">{text('parts', { count: parts })}</p>}
      {notes.length > 0 && (
        <ul>
          {notes.map(({ broker, key, note }) => (
            <li key={`${broker.id} ${key}`}>
              <Link href={listOf(broker, days)}>{broker.name}</Link>: {note}
            </li>
          ))}
        </ul>
      )}
      {isComplete && rows.length === 0 && <p>{text('noOldPassword')}</p>}
      {rows.length > 0 && (
        <Table
          label={text('passwordAges')}
          columns={columns}
          rows={rows}
          keyOf={({ broker, account }) => `${broker.id} ${account?.username}`}
        />
      )}
      {(brokers.totalCount > PAGE || page > 1) && <Pager page={page} total={brokers.totalCount} onPage={onPage} />}
    </div>
  );
}

const listOf = ({ id }: Place, days: number | undefined): string =>
  accessAddress(id, 'passwordAges', { older: days === undefined ? null : String(days) });

/** Asks the brokers, some at the same time. The results appear as they come. */
function useFound(brokers: readonly Place[] | null, before: string | null) {
  const [found, setFound] = useState<readonly Found[]>([]);
  const key = JSON.stringify([brokers, before]);
  useEffect(() => {
    let isWanted = true;
    setFound([]);
    const waiting = [...(brokers ?? [])];
    const work = async () => {
      for (let broker = waiting.shift(); broker && isWanted; broker = waiting.shift()) {
        const result = await foundOf(broker, before);
        if (isWanted) setFound((known) => [...known, result]);
      }
    };
    for (let running = 0; running < MAX_RUNNING; running++) void work();
    return () => {
      isWanted = false;
    };
  }, [key]);
  return { found, isComplete: brokers !== null && found.length === brokers.length };
}

async function foundOf(broker: Place, before: string | null): Promise<Found> {
  const { data, error } = await ask(PASSWORDS, { id: broker.id, offset: 0, before });
  const page = data?.accountPasswords;
  if (!page) return { broker, listed: [], others: 0, parts: 0, failure: error?.message ?? '' };
  const others = page.totalCount - page.nodes.length;
  return { broker, listed: page.nodes, others, parts: page.partEntries, failure: null };
}
