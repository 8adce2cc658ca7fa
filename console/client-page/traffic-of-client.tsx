import { useId } from 'react';
import { type Amount, amountsIn, COUNTED } from '../broker/amounts.ts';
import { useBytes } from '../broker/units.ts';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Refusal } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { useLastKnown } from './last-known.ts';
import type { ClientNumbers } from './operations.ts';
import { clientTexts } from './texts.ts';

const TRAFFIC = graphql(
  `query TrafficOfClient($id: ID!) {
  broker(id: $id) {
    minute_MESSAGES_IN: topClients(by: MESSAGES_IN, last: MINUTE, first: 100) { ...Counted }
    minute_BYTES_IN: topClients(by: BYTES_IN, last: MINUTE, first: 100) { ...Counted }
    minute_MESSAGES_OUT: topClients(by: MESSAGES_OUT, last: MINUTE, first: 100) { ...Counted }
    minute_BYTES_OUT: topClients(by: BYTES_OUT, last: MINUTE, first: 100) { ...Counted }
    hour_MESSAGES_IN: topClients(by: MESSAGES_IN, last: HOUR, first: 100) { ...Counted }
    hour_BYTES_IN: topClients(by: BYTES_IN, last: HOUR, first: 100) { ...Counted }
    hour_MESSAGES_OUT: topClients(by: MESSAGES_OUT, last: HOUR, first: 100) { ...Counted }
    hour_BYTES_OUT: topClients(by: BYTES_OUT, last: HOUR, first: 100) { ...Counted }
  }
}`,
  [COUNTED],
);

/** Brokers count in steps of ten seconds. */
const TRAFFIC_MS = 10_000;

const MEASURES = ['MESSAGES_IN', 'BYTES_IN', 'MESSAGES_OUT', 'BYTES_OUT'] as const;
type Measure = (typeof MEASURES)[number];

interface TrafficOfClientProps {
  readonly brokerId: string;
  readonly clientId: string;
  /** Whether the broker can be queried. */
  readonly isReached: boolean;
  /** `null` if the client is not known to the broker. */
  readonly numbers: ClientNumbers | null;
}

/** What a client sends and receives, as far as the broker counts it. */
export function TrafficOfClient({ brokerId, clientId, isReached, numbers }: TrafficOfClientProps) {
  const text = useTexts(clientTexts);
  const numberText = useNumbers();
  const bytesText = useBytes();
  const heading = useId();
  const { data, error } = useQuery(TRAFFIC, { id: brokerId }, TRAFFIC_MS);
  const formatOf = (measure: Measure) => (measure.startsWith('BYTES') ? bytesText : numberText);
  const counted: Readonly<Record<Measure, number | null | undefined>> = {
    MESSAGES_IN: numbers?.numPublished,
    BYTES_IN: numbers?.bytesPublished,
    MESSAGES_OUT: numbers?.numSubscribed,
    BYTES_OUT: numbers?.bytesSubscribed,
  };
  const shown = (measure: Measure, found: Amount | null, perSecond: string | null = null) => {
    if (found === null) return '–';
    const value = formatOf(measure)(found.value) + (perSecond ?? '');
    return found.isExact ? value : text('atMost', { value });
  };
  const broker = useLastKnown(data?.broker, error === null);
  const columns: Column<Measure>[] = [
    { key: 'measure', title: text('traffic'), cell: (measure) => text(measure) },
    {
      key: 'minute',
      title: text('lastMinute'),
      isNumber: true,
      cell: (measure) => {
        const found = amountsIn(broker?.[`minute_${measure}`])(clientId);
        return shown(measure, found && { ...found, value: found.perSecond }, '/s');
      },
    },
    {
      key: 'hour',
      title: text('lastHour'),
      isNumber: true,
      cell: (measure) => shown(measure, amountsIn(broker?.[`hour_${measure}`])(clientId)),
    },
    {
      key: 'connection',
      title: text('ofConnection'),
      isNumber: true,
      cell: (measure) => {
        const value = counted[measure];
        return value == null ? '–' : formatOf(measure)(value);
      },
    },
  ];
  const isUnsupported = error?.code === 'NOT_SUPPORTED_BY_BROKER';
  const inHour = MEASURES.map((measure) => amountsIn(broker?.[`hour_${measure}`])(clientId));
  const isKnown = MEASURES.some((measure, nth) => counted[measure] != null || inHour[nth]);
  const isNone = numbers === null && inHour.every((amount) => amount?.value === 0);
  return (
    <section aria-labelledby={heading}>
      <h3 id={heading}>{text('traffic')}</h3>
      {isUnsupported && <p className="note">{text('trafficUnsupported')}</p>}
      {!isUnsupported && isReached && <Refusal error={error} />}
      {!isUnsupported && !isReached && !isKnown && <p className="quiet">{text('unknownNow')}</p>}
      {isNone && <p className="quiet">{text('noTraffic')}</p>}
      {isKnown && !isNone && (
        <Table
          label={text('trafficOf', { client: clientId })}
          columns={columns}
          rows={MEASURES}
          keyOf={(measure) => measure}
          isStale={!isReached}
        />
      )}
    </section>
  );
}
