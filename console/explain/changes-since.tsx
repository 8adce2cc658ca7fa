import { Link } from 'wouter';
import { ENTRY, type Entry } from '../audit/audit-entry.ts';
import { useEntryColumns } from '../audit/entry-columns.tsx';
import { useOperationName } from '../audit/what.tsx';
import { useBroker } from '../broker/broker-context.ts';
import { graphql } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { useLanguage, useTexts, useTimes } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { entryAddress } from '../ui/entry-address.ts';
import { Problem, Refusal } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { whyTexts } from './texts.ts';

const CHANGES = graphql(
  `query ChangesSince($broker: ID!, $since: DateTime!) {
    accessChanges(brokerId: $broker, since: $since) {
      changeCount
      knownSince
      isComplete
      usernames
      groupNames
      roleNames
      concernsAll
      previous { ...Entry }
      changes { ...Entry }
    }
  }`,
  [ENTRY],
);

/** The beginning of a day in the zone of the viewer. `null` if the text is no day in the past. */
export function beginOf(day: string): Date | null {
  const begin = new Date(`${day}T00:00:00`);
  return begin.getTime() <= Date.now() ? begin : null;
}

interface ChangesSinceProps {
  readonly begin: Date;
  readonly revision: number;
}

/** Whether the current list also holds for a day, for which clients it may not, and each change since then. */
export function ChangesSince({ begin, revision }: ChangesSinceProps) {
  const text = useTexts(whyTexts);
  const entryColumns = useEntryColumns();
  const timeOf = useTimes();
  const operationName = useOperationName();
  const day = new Intl.DateTimeFormat(useLanguage(), { dateStyle: 'full' }).format(begin);
  const { id, project } = useBroker();
  const variables = { broker: id, since: begin.toISOString() };
  const { data, error } = useFresh(CHANGES, variables, revision);
  const known = data?.accessChanges;
  if (!known) return <Problem error={error} />;
  const { changes, changeCount, previous, usernames, groupNames, roleNames } = known;
  const names = { differsAccounts: usernames, differsGroups: groupNames, differsRoles: roleNames };
  const concerned = known.concernsAll
    ? [text('everybody')]
    : (['differsAccounts', 'differsGroups', 'differsRoles'] as const).flatMap((key) =>
        names[key].length === 0 ? [] : [text(key, { names: names[key].join(', ') })],
      );
  const columns: Column<Entry>[] = [
    {
      key: 'at',
      title: text('time'),
      cell: (entry) => <Link href={entryAddress(project.id, entry)}>{timeOf(entry.at)}</Link>,
      value: ({ at }) => at,
    },
    ...entryColumns,
  ];
  return (
    <>
      <Refusal error={error} />
      <div className="note">
        {!known.isComplete && <p>{text('dayUnknown', { day, time: timeOf(known.knownSince) })}</p>}
        {known.isComplete && changeCount === 0 && <p>{text('dayHolds', { day })}</p>}
        {changeCount > 0 && (
          <>
            <p>{text('dayDiffers', { day })}</p>
            <ul>
              {concerned.map((one) => (
                <li key={one}>{one}</li>
              ))}
            </ul>
          </>
        )}
        <p>
          {previous === null && text('noneBefore')}
          {previous !== null && (
            <Link href={entryAddress(project.id, previous)}>
              {text('lastBefore', { time: timeOf(previous.at), what: operationName(previous.operation) })}
            </Link>
          )}
        </p>
        <p>{text('notRecorded', { time: timeOf(Date.now()) })}</p>
      </div>
      {changeCount > 0 && (
        <>
          <h3>{text('changesSince', { day, count: changeCount })}</h3>
          <Table
            label={text('changesSince', { day, count: changeCount })}
            columns={columns}
            rows={changes}
            keyOf={(entry) => entry.id}
          />
        </>
      )}
      <CopyAs document={CHANGES} variables={variables} />
    </>
  );
}
