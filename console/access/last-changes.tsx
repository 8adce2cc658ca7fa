import { Link } from 'wouter';
import { useBroker } from '../broker/broker-context.ts';
import { graphql, type ResultOf, type VariablesOf } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { useTexts } from '../texts/texts.ts';
import { entryAddress } from '../ui/entry-address.ts';
import { Hint } from '../ui/hint.tsx';
import { Time } from '../ui/time.tsx';
import { useZonedTimes } from '../ui/use-zone.ts';
import { useAccess } from './access-context.ts';
import { accessTexts } from './texts.ts';

const LAST = graphql(`query LastAccessChanges(
  $broker: ID!
  $since: DateTime!
  $kind: ChangedAccessKind!
  $names: [String!]!
  $isAllowed: Boolean!
) {
  accessChanges(brokerId: $broker, since: $since) @include(if: $isAllowed) {
    knownSince
    lastChanges(kind: $kind, names: $names) { at operation actorName actorKind }
  }
}`);

type Change = NonNullable<NonNullable<ResultOf<typeof LAST>['accessChanges']>['lastChanges'][number]>;
type Kind = VariablesOf<typeof LAST>['kind'];

/** As long as the audit goes back. */
const EVER = new Date(0).toISOString();

/** When this service changed objects last. `null`: not known yet, or the viewer may not read the audit. */
export function useLastChanges(kind: Kind, names: readonly string[]) {
  const { project } = useBroker();
  const { brokerId, revision } = useAccess();
  const isAllowed = project.viewerCanReadAudit && names.length > 0;
  const variables = { broker: brokerId, since: EVER, kind, names: [...names], isAllowed };
  const { data, isCurrent } = useFresh(LAST, variables, revision);
  const known = data?.accessChanges;
  if (!known || !isCurrent) return null;
  return {
    knownSince: known.knownSince,
    of: (name: string): Change | null => known.lastChanges[names.indexOf(name)] ?? null,
  };
}

type LastChanges = NonNullable<ReturnType<typeof useLastChanges>>;

interface LastChangeProps {
  readonly changes: LastChanges;
  readonly name: string;
}

/** When an object was changed last, the caller, and the way to the entry of the audit. */
export function LastChange({ changes, name }: LastChangeProps) {
  const text = useTexts(accessTexts);
  const timeOf = useZonedTimes();
  const { project } = useBroker();
  const change = changes.of(name);
  if (change === null) return <Hint text={text('noChange', { time: timeOf(changes.knownSince) })}>–</Hint>;
  return (
    <>
      <Link href={entryAddress(project.id, change)}>
        <Time isRelative={true} at={change.at} />
      </Link>{' '}
      <small>{change.actorName ?? change.actorKind}</small>
    </>
  );
}

/** The same in a list, where it is known. */
export function lastChangeColumn<Row>(title: string, changes: LastChanges | null, nameOf: (row: Row) => string) {
  if (changes === null) return [];
  return [
    {
      key: 'changed',
      title,
      cell: (row: Row) => <LastChange changes={changes} name={nameOf(row)} />,
      value: (row: Row) => changes.of(nameOf(row))?.at ?? null,
    },
  ];
}
