import { useBroker, useIsReached } from '../broker/broker-context.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { isFirst } from '../ui/pager.tsx';
import { useWantedEvents } from './event-filter.ts';
import { BROKER_EVENTS } from './event-graph.ts';
import { EventList } from './event-list.tsx';
import { eventTexts } from './texts.ts';

/** Events are sent to no subscription, so the newest are read again at this interval in milliseconds. */
const EVENTS_MS = 2_000;

/** What happened to the clients of a broker. */
export function BrokerEvents() {
  const text = useTexts(eventTexts);
  const isReached = useIsReached();
  return (
    <>
      {!isReached && <p className="note">{text('brokerAway')}</p>}
      <EventsOfBroker label={text('events')} />
    </>
  );
}

interface EventsOfBrokerProps {
  readonly label: string;
  /** Only the events of this client. Default: those of all clients. */
  readonly clientId?: string;
}

/** The events of a broker or of one of its clients, as the address selects them. */
export function EventsOfBroker({ label, clientId }: EventsOfBrokerProps) {
  const { id } = useBroker();
  const isReached = useIsReached();
  const wanted = useWantedEvents(clientId);
  const variables = { id, ...wanted.variables };
  const { data, error } = useQuery(BROKER_EVENTS, variables, isFirst(wanted.cursor) ? EVENTS_MS : null);
  return (
    <EventList
      label={label}
      of={clientId === undefined ? 'BROKER' : 'CLIENT'}
      page={data?.broker?.clientEvents ?? null}
      error={error}
      canReadAudit={data?.broker?.project.viewerCanReadAudit === true}
      isFollowed={isReached}
      wanted={wanted}
      document={BROKER_EVENTS}
      variables={variables}
    />
  );
}
