import { Link } from 'wouter';
import { accessAddress } from '../access/addresses.ts';
import { clientPath } from '../clients/client-address.ts';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import type { ClientEvent, EventKind } from './event-graph.ts';
import type { EventRow } from './event-rows.ts';
import { useEventWords, usernameOf } from './event-words.ts';
import { How } from './how.tsx';
import { eventTexts } from './texts.ts';
import './style.css';
import { LongName } from '../ui/long-name.tsx';

interface EventTableProps {
  readonly label: string;
  readonly rows: readonly EventRow[];
  /** `PROJECT` names the broker and the client of each event, `BROKER` the client. */
  readonly of: 'PROJECT' | 'BROKER' | 'CLIENT';
  readonly canReadAudit: boolean;
  readonly isStale: boolean;
}

/** The colour of a state that is alike. */
const COLOURS: Readonly<Record<EventKind, string>> = {
  CONNECTED: 'CONNECTED',
  DISCONNECTED: '',
  TAKEN_OVER: 'WAITING',
  REFUSED: 'REFUSED',
  LIMIT_EXCEEDED: 'REFUSED',
  CLIENT_ID_CONFLICT: 'WAITING',
};

/** Events, and between them the times of which nothing is known. */
export function EventTable({ label, rows, of, canReadAudit, isStale }: EventTableProps) {
  const text = useTexts(eventTexts);
  const { kindOf, howOf, gapOf } = useEventWords();
  const column = (
    key: string,
    title: string,
    cell: Column<ClientEvent>['cell'],
    value: NonNullable<Column<ClientEvent>['value']>,
  ): Column<EventRow> => ({
    key,
    title,
    cell: ({ event }) => event && cell(event),
    value: ({ event }) => event && value(event),
  });
  const columns: Column<EventRow>[] = [
    {
      key: 'time',
      title: text('time'),
      cell: ({ event, gap }) => <Time at={event?.at ?? gap?.to} />,
      value: ({ event, gap }) => event?.at ?? gap?.to,
    },
    {
      key: 'what',
      title: text('what'),
      cell: ({ event }) =>
        event ? (
          <span className={`state ${COLOURS[event.kind]}`}>{kindOf(event)}</span>
        ) : (
          <span className="quiet">{text('nothingKnown')}</span>
        ),
      value: ({ event }) => (event ? kindOf(event) : text('nothingKnown')),
    },
    ...(of === 'PROJECT'
      ? [
          column(
            'broker',
            text('broker'),
            ({ broker }) => <Link href={`/brokers/${broker.id}/events`}>{broker.name}</Link>,
            ({ broker }) => broker.name,
          ),
        ]
      : []),
    ...(of === 'CLIENT'
      ? []
      : [
          column(
            'client',
            text('client'),
            ({ broker, clientId }) =>
              clientId ? (
                <Link href={clientPath(broker.id, clientId)}>
                  <LongName>{clientId}</LongName>
                </Link>
              ) : (
                text('unknown')
              ),
            ({ clientId }) => clientId,
          ),
        ]),
    {
      key: 'how',
      title: text('how'),
      cell: ({ event, gap }) =>
        event ? (
          <How event={event} canReadAudit={canReadAudit} />
        ) : (
          gap && <span className="events-gap">{gapOf(gap, of === 'PROJECT')}</span>
        ),
      value: ({ event, gap }) => (event ? howOf(event) : gap && gapOf(gap, of === 'PROJECT')),
    },
    column(
      'account',
      text('account'),
      (event) => {
        const name = usernameOf(event);
        return name ? <Link href={accessAddress(event.broker.id, 'accounts', { name })}>{name}</Link> : '–';
      },
      usernameOf,
    ),
    column(
      'address',
      text('address'),
      ({ address }) => address ?? '–',
      ({ address }) => address,
    ),
  ];
  return <Table name="events" label={label} columns={columns} rows={rows} keyOf={({ key }) => key} isStale={isStale} />;
}
