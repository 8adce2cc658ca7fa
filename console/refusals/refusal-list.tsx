import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useLive } from '../graph/live.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts, useTimes } from '../texts/texts.ts';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { Problem } from '../ui/problem.tsx';

const REPORTED = graphql(`query ReportedRefusals($id: ID!) {
  broker(id: $id) { refusals(first: 1) { since limit } }
}`);

const REFUSALS = graphql(`subscription Refusals($brokerId: ID!, $after: SafeInt) {
  refusals(brokerId: $brokerId, after: $after) {
    kind
    sequence
    removed
    partsLeft
    refusals {
      id
      lastAt
      kind
      reason
      clientId
      username
      address
      topic
      detail
      count
      whatWouldHelp
    }
  }
}`);

type RefusalsEvent = ResultOf<typeof REFUSALS>['refusals'];
type Refusal = RefusalsEvent['refusals'][number];

/** By id, in the order in which they were last seen. */
function apply(before: ReadonlyMap<string, Refusal> | null, { refusals, removed }: RefusalsEvent) {
  const all = new Map(before);
  for (const id of removed) all.delete(id);
  for (const refusal of refusals) all.set(refusal.id, refusal);
  return all;
}

export function RefusalList({ broker }: { readonly broker: { readonly id: string; readonly url: string | null } }) {
  const text = useTexts();
  const timeOf = useTimes();
  const { data, error } = useQuery(REPORTED, { id: broker.id });
  const { state, isLive } = useLive(REFUSALS, { brokerId: broker.id }, ({ refusals }) => refusals, apply);
  const reported = data?.broker?.refusals;
  if (state === null || !reported) return <Problem error={error} />;
  const refusals = [...state.values()].sort((a, b) => b.lastAt.localeCompare(a.lastAt));
  return (
    <>
      {reported.limit && <p className="note">{reported.limit}</p>}
      {refusals.length === 0 && (
        <>
          <p>{text('noRefusals', { time: timeOf(reported.since) })}</p>
          <CommandToCopy command={wrongPassword(broker.url)} />
        </>
      )}
      {refusals.length > 0 && (
        <div className="wide">
          <table className={isLive ? '' : 'stale'}>
            <thead>
              <tr>
                {(['last', 'client', 'account', 'topic', 'why', 'whatHelps', 'times'] as const).map((column) => (
                  <th key={column} scope="col">
                    {text(column)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {refusals.map((refusal) => (
                <tr key={refusal.id}>
                  <td>
                    <time dateTime={refusal.lastAt}>{timeOf(refusal.lastAt)}</time>
                  </td>
                  <td title={refusal.address ?? undefined}>{refusal.clientId ?? refusal.address ?? '–'}</td>
                  <td>{refusal.username ?? '–'}</td>
                  <td>{refusal.topic ?? '–'}</td>
                  <td title={refusal.detail ?? undefined}>{inWords(refusal.reason)}</td>
                  <td>{refusal.whatWouldHelp}</td>
                  <td className="number">{refusal.count}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

const inWords = (reason: string): string => reason.toLowerCase().replaceAll('_', ' ');

function wrongPassword(url: string | null): string {
  const { hostname, port } = new URL(url ?? 'mqtt://127.0.0.1:1883');
  return `mosquitto_pub -h ${hostname} -p ${port || 1883} -u nobody -P wrong -t a -m b`;
}
