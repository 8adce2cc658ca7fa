import { ShieldCheck } from 'lucide-react';
import { Link, useSearchParams } from 'wouter';
import { accessAddress } from '../access/addresses.ts';
import { useBroker, useIsReached } from '../broker/broker-context.ts';
import { placeOf } from '../clients/broker-place.ts';
import { clientPath } from '../clients/client-address.ts';
import { graphql } from '../graph/graphql.ts';
import { useLive } from '../graph/live.ts';
import { useQuery } from '../graph/use-query.ts';
import { BrokerCharts } from '../overview/broker-charts.tsx';
import { useTexts, useTimes } from '../texts/texts.ts';
import { useAddressValues } from '../ui/address-values.ts';
import type { Column } from '../ui/column.ts';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { Empty } from '../ui/empty.tsx';
import { LiveMark } from '../ui/live-mark.tsx';
import { LongName } from '../ui/long-name.tsx';
import { NoMatch } from '../ui/no-match.tsx';
import { Problem } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { Limit } from './limit.tsx';
import { useRefusalColumns } from './refusal-columns.tsx';
import { isFiltered, KEYS, matches, RefusalFilter } from './refusal-filter.tsx';
import { RefusalPage } from './refusal-page.tsx';
import { REFUSALS, type Refusal, type RefusalsEvent } from './refusals-live.ts';
import { refusalTexts } from './texts.ts';

const REPORTED = graphql(`query ReportedRefusals($id: ID!) {
  broker(id: $id) { refusals(first: 1) { since limit limitCode } }
}`);

/** By id, in the order in which they were last seen. */
function apply(before: ReadonlyMap<string, Refusal> | null, { refusals, removed }: RefusalsEvent) {
  const all = new Map(before);
  for (const id of removed) all.delete(id);
  for (const refusal of refusals) all.set(refusal.id, refusal);
  return all;
}

/** The refusals of a broker, or one of them. */
export function Refusals() {
  const [search] = useSearchParams();
  const id = search.get('id');
  return id === null ? <RefusalList /> : <RefusalPage key={id} id={id} />;
}

/** Refused clients of a broker, with the reasons. */
function RefusalList() {
  const text = useTexts(refusalTexts);
  const broker = useBroker();
  const timeOf = useTimes();
  const isReached = useIsReached();
  const { values } = useAddressValues();
  const { data, error } = useQuery(REPORTED, { id: broker.id });
  const { state, isLive: isFollowed } = useLive(REFUSALS, { brokerId: broker.id }, ({ refusals }) => refusals, apply);
  const { last, topic, reason, decidedBy, whatHelps, times } = useRefusalColumns(broker.id);
  const columns: Column<Refusal>[] = [
    last,
    {
      key: 'client',
      title: text('client'),
      cell: (refusal) => (
        <>
          {refusal.clientId && (
            <Link href={clientPath(broker.id, refusal.clientId)}>
              <LongName>{refusal.clientId}</LongName>
            </Link>
          )}
          <small className="of-client">
            {refusal.username && (
              <Link href={accessAddress(broker.id, 'accounts', { name: refusal.username })}>{refusal.username}</Link>
            )}{' '}
            {addressesOf(refusal)}
          </small>
        </>
      ),
      value: ({ clientId, address }) => clientId ?? address,
    },
    { key: 'address', title: text('address'), isHidden: true, cell: addressesOf },
    { key: 'account', title: text('account'), isHidden: true, cell: ({ username }) => username },
    topic,
    reason,
    decidedBy,
    whatHelps,
    times,
  ];
  const reported = data?.broker?.refusals;
  if (state === null || !reported) return <Problem error={error} />;
  const isLive = isFollowed && isReached;
  const all = [...state.values()];
  const refusals = all.filter((one) => matches(values, one)).sort((a, b) => b.lastAt.localeCompare(a.lastAt));
  return (
    <>
      <Limit refusals={reported} />
      <BrokerCharts broker={{ id: broker.id, project: broker.project }} startedAt={null} metric="refusals" />
      <RefusalFilter actions={<LiveMark isLive={isLive} />} />
      {refusals.length === 0 && isFiltered(values) && <NoMatch title={text('noMatch')} keys={KEYS} />}
      {all.length === 0 && !isFiltered(values) && (
        <Empty icon={ShieldCheck} title={text('noRefusals', { time: timeOf(reported.since) })}>
          <p>{text('tryWrong')}</p>
          <CommandToCopy command={wrongPassword(broker.url)} />
        </Empty>
      )}
      {refusals.length > 0 && (
        <Table
          name="refusals"
          label={text('refusals')}
          columns={columns}
          rows={refusals}
          keyOf={({ id }) => id}
          isStale={!isLive}
        />
      )}
    </>
  );
}

const addressesOf = ({ address, takenOverBy }: Refusal): string =>
  [address ?? '–', takenOverBy?.address].filter(Boolean).join(' ⇄ ');

function wrongPassword(url: string | null): string {
  const { host, port } = placeOf(url);
  return `mosquitto_pub -h ${host} -p ${port} -u nobody -P wrong -t a -m b`;
}
