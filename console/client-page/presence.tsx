import { useBroker, useIsReached } from '../broker/broker-context.ts';
import { subscribeCommand } from '../clients/subscribe-command.ts';
import { eventTexts } from '../events/texts.ts';
import { useTexts, useTimes } from '../texts/texts.ts';
import { AsSent } from '../ui/as-sent.tsx';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { Time } from '../ui/time.tsx';
import type { ClientState, LastSeen } from './operations.ts';
import { clientTexts } from './texts.ts';

interface PresenceProps {
  readonly clientId: string;
  /** `null`: the broker does not know it; `undefined`: it is not known whether the broker does. */
  readonly client: ClientState | null | undefined;
  /** `null` until it is read. */
  readonly seen: LastSeen | null;
}

/** Since when a client is connected, or when it was seen last. */
export function Presence({ clientId, client, seen }: PresenceProps) {
  const text = useTexts(clientTexts);
  const timeOf = useTimes();
  const { url } = useBroker();
  const isReached = useIsReached();
  const since = client?.isConnected ? client.lastConnectedAt : null;
  return (
    <>
      {!isReached && <p className="note">{text(client ? 'brokerAway' : 'brokerAwayUnknown')}</p>}
      {since && (
        <p className={isReached ? '' : 'stale'}>
          {text('connectedSince', { time: timeOf(since) })} (<Time isRelative={true} at={since} />)
        </p>
      )}
      {client && !client.isConnected && <Offline client={client} />}
      {!client && (client === null || !isReached) && seen && <Seen seen={seen} isAway={isReached} />}
      {client === null && isReached && (
        <>
          <p>{text('absentHint')}</p>
          <CommandToCopy command={subscribeCommand(url, clientId)} />
        </>
      )}
    </>
  );
}

/** A client whose session is stored. */
function Offline({ client: { lastDisconnectedAt, disconnectReason } }: { readonly client: ClientState }) {
  const text = useTexts(clientTexts);
  const timeOf = useTimes();
  return (
    <p>
      {lastDisconnectedAt === null
        ? text('notConnected')
        : text('notConnectedSince', { time: timeOf(lastDisconnectedAt) })}
      {disconnectReason && (
        <>
          {' '}
          (<AsSent>{disconnectReason}</AsSent>)
        </>
      )}{' '}
      {text('sessionStored')}
    </p>
  );
}

interface SeenProps {
  readonly seen: LastSeen;
  /** Whether the client is known not to be connected. */
  readonly isAway: boolean;
}

/** A client that only the history may know. */
function Seen({ seen: { last, seen }, isAway }: SeenProps) {
  const text = useTexts(clientTexts);
  const kindText = useTexts(eventTexts);
  const timeOf = useTimes();
  const [event] = seen.nodes;
  if (event) {
    const values = { time: timeOf(event.at), what: kindText(event.kind) };
    return <p>{text(isAway ? 'awayLastSeen' : 'lastSeen', values)}</p>;
  }
  if (last.since === null) return <p>{text('neverRecorded')}</p>;
  if (seen.pageInfo.hasNextPage) return <p>{text('notFoundYet')}</p>;
  const [other] = last.nodes;
  return (
    <p>
      <strong>{text('neverSeen', { time: timeOf(last.since) })}</strong>
      {!last.isComplete && ` ${text('mayBeGap')}`}
      {other && ` ${text('onlyTried', { time: timeOf(other.at) })}`}
    </p>
  );
}
