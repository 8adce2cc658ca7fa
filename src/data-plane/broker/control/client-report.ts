import {
  ANONYMOUS,
  type ClientBacklog,
  type ClientInflight,
  type ClientQueues,
  type ConnectedClientDetail,
  type ConnectedClientSummary,
} from '../../../protocol/apis/clients/inspect-data.ts';
import { type ClientRegistry, droppedOn } from '../clients/client-registry.ts';
import type { Connection } from '../clients/connection.ts';
import type { WillInfo } from '../connecting/access.ts';
import { BROKER_LIMITS } from '../limits.ts';
import type { IncomingStore } from '../store/incoming-store.ts';
import type { Session } from '../store/session.ts';

export interface WireClientDetail extends Omit<ConnectedClientDetail, 'subscriptionOptions'> {
  readonly subscriptionOptions: readonly { readonly no_local: boolean; readonly retain_as_published: boolean }[];
}

/**
 * Inspection data of one client of the embedded broker. Bytes are payload bytes.
 *
 * - `queues`: waiting messages. In: QoS 1 and 2 that are not on disk yet. Out: in the session or the send window.
 * - `inflight`: unacknowledged messages. In: QoS 2 from PUBREC to PUBREL. Out: QoS 1 and 2; for an offline client the
 *   messages that will be sent again. The limits of out apply to waiting and unacknowledged messages together.
 * - `numDropped`: of the session since the start of the broker, or of the connection of a client without a session.
 * - The other counters are those of the last connection. They are absent if the broker was killed meanwhile.
 */
export class ClientReport {
  readonly #registry: ClientRegistry;
  readonly #incoming: IncomingStore;

  constructor(registry: ClientRegistry, incoming: IncomingStore) {
    this.#registry = registry;
    this.#incoming = incoming;
  }

  summary(clientId: string): ConnectedClientSummary | null {
    const { connection, session } = this.#find(clientId);
    if (!connection && !session) return null;
    const queues = this.#queuesOut(session, connection);
    const about = connection ? connection.about : session?.about;
    if (!about) return { username: ANONYMOUS, clientid: clientId, connected: false, queues };
    return {
      username: about.username ?? ANONYMOUS,
      clientid: clientId,
      address: about.address,
      protocol: about.protocol,
      protocolVersion: versionName(about.protocolVersion),
      connected: connection !== undefined,
      lastConnect: about.lastConnect,
      lastDisconnect: about.lastDisconnect,
      ...(connection ? { remotePort: connection.remotePort } : {}),
      ...(connection?.identity?.previousEnd ? { disconnectReason: connection.identity.previousEnd } : {}),
      queues,
    };
  }

  detail(clientId: string): WireClientDetail | null {
    const summary = this.summary(clientId);
    if (!summary) return null;
    const { connection, session } = this.#find(clientId);
    const subscriptions = subscriptionsIn(connection, session);
    return {
      ...summary,
      numSubscriptions: subscriptions.length,
      subscriptions: subscriptions.map(({ filter }) => filter),
      subscriptionQos: subscriptions.map(({ qos }) => qos),
      subscriptionOptions: subscriptions.map(({ nl, rap }) => ({ no_local: nl, retain_as_published: rap })),
      numDropped: droppedOf(session, connection),
      ...trafficOf(connection, session),
      ...connectOf(connection, session),
      queues: this.#queues(session, connection),
      inflight: this.#inflight(clientId, session, connection),
    };
  }

  /** The queues of a client as in its detail; a summary has fewer keys. `null` if there is no such client. */
  queues(clientId: string): ClientQueues | null {
    const { connection, session } = this.#find(clientId);
    return connection || session ? this.#queues(session, connection) : null;
  }

  backlog(clientId: string): ClientBacklog {
    const { connection, session } = this.#find(clientId);
    return { messagesOut: waitingOf(session, connection), numDropped: droppedOf(session, connection) };
  }

  #find(clientId: string) {
    return { connection: this.#registry.connection(clientId), session: this.#registry.session(clientId) };
  }

  #queues(session: Session | undefined, connection: Connection | undefined): ClientQueues {
    const { pendingCommits = 0, pendingBytes = 0 } = connection?.counters ?? {};
    return {
      ...this.#queuesOut(session, connection),
      messagesIn: pendingCommits,
      messagesInQos12: pendingCommits,
      bytesIn: pendingBytes,
      messagesOutQos12: waitingOf(session, connection),
    };
  }

  #queuesOut(session: Session | undefined, connection: Connection | undefined): ClientQueues {
    const { offlineMessages, onlineMessages, sessionBytes } = BROKER_LIMITS;
    const windowBytes = connection?.flow.window?.queuedBytes ?? 0;
    return {
      messagesOut: waitingOf(session, connection),
      messagesMax: connection ? onlineMessages : offlineMessages,
      bytesOut: (session ? session.payloadBytes - session.sentBytes : 0) + windowBytes,
      bytesMax: sessionBytes,
      pagedMessagesOut: 0,
      pagedMessagesMax: 0,
    };
  }

  #inflight(clientId: string, session: Session | undefined, connection: Connection | undefined): ClientInflight {
    const { maxIncoming: messagesInMax, onlineMessages, sessionBytes } = BROKER_LIMITS;
    const messagesOutMax = connection?.flow.window?.size ?? onlineMessages;
    const { pendingQos2 = 0, pendingQos2Bytes = 0 } = connection?.counters ?? {};
    const { inFlight } = connection?.flow ?? {};
    return {
      messagesIn: this.#incoming.count(clientId) - pendingQos2,
      messagesInMax,
      bytesIn: this.#incoming.bytes(clientId) - pendingQos2Bytes,
      messagesOut: (session?.sentMessages ?? 0) + (inFlight?.count ?? 0),
      messagesOutMax,
      bytesOut: (session?.sentBytes ?? 0) + (inFlight?.bytes ?? 0),
      messagesMax: messagesInMax + messagesOutMax,
      bytesMax: session ? sessionBytes : 0,
    };
  }
}

const versionName = (level: number): 'v3.1' | 'v3.1.1' | 'v5' => (level === 3 ? 'v3.1' : level === 5 ? 'v5' : 'v3.1.1');

const waitingOf = (session: Session | undefined, connection: Connection | undefined): number =>
  (session ? session.queue.size - session.sentMessages : 0) + (connection?.flow.window?.queued ?? 0);

const droppedOf = (session: Session | undefined, connection: Connection | undefined): number =>
  (session?.dropped ?? 0) + (connection ? droppedOn(connection) : 0);

function subscriptionsIn(connection: Connection | undefined, session: Session | undefined) {
  const { subscriptions } = connection?.holder ?? session ?? {};
  return Array.from(subscriptions ?? [], ([filter, record]) => ({ filter, ...optionsOf(record) }));
}

const optionsOf = ({ qos, nl, rap }: { readonly qos: 0 | 1 | 2; readonly nl?: unknown; readonly rap?: unknown }) => ({
  qos,
  nl: nl === true,
  rap: rap === true,
});

function trafficOf(connection: Connection | undefined, session: Session | undefined) {
  const traffic = connection?.counters ?? session?.about?.traffic;
  if (!traffic) return {};
  return {
    numPublished: traffic.published,
    numSubscribed: traffic.delivered,
    bytesPublished: traffic.publishedBytes,
    bytesSubscribed: traffic.deliveredBytes,
  };
}

function connectOf(connection: Connection | undefined, session: Session | undefined) {
  const about = connection ?? session?.about;
  if (!about) return {};
  const { isClean = false, request, tls } = connection ?? {};
  const keepalive = request?.keepalive ?? session?.about?.keepalive ?? 0;
  return {
    keepalive,
    cleanSession: isClean,
    listener: { port: about.listener.port, bind_address: about.listener.host },
    ...(request?.will ? { will: willOf(request.will) } : {}),
    ...(tls ? { tls } : {}),
  };
}

const willOf = ({ payload, ...will }: WillInfo) => ({ ...will, payload: Buffer.from(payload).toString('base64') });
