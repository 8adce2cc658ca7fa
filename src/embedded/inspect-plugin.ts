import {
  ANONYMOUS,
  type ClientInflight,
  type ClientQueues,
  type ClientsChangedEvent,
  type ConnectedClientDetail,
  type ConnectedClientSummary,
  type ListClientsData,
} from '../clients/inspect/inspect-control.ts';
import type { ControlCommand } from '../control/envelope.ts';
import { type ControlPlugin, ControlRefusal } from '../control/plugin.ts';
import type { ClientRegistry } from './client-registry.ts';
import { type Connection, subscriptionsOf } from './connection.ts';
import type { QueueLimits } from './limits.ts';
import { pageOf, requiredText, runCommandOf } from './plugin-arguments.ts';
import type { Session } from './session.ts';

export interface InspectPluginOptions {
  readonly registry: ClientRegistry;
  readonly limits: QueueLimits;
  /** Epoch milliseconds since when the broker runs. */
  readonly since: number;
  readonly emit: (event: ClientsChangedEvent) => void;
  /** How long changes are collected before they are told; 50 ms. */
  readonly collectMs?: number;
}

/**
 * `cedalo/inspect` of the embedded broker: its own clients, connected ones and those that left a persistent session.
 *
 * Events: each `clientsChanged` carries the number after the one before and holds every client whose state changed since then, as
 * it is now. A list carries the number of the last event told, and is never older than it: who lists at number n and applies
 * the events after n has the truth.
 */
export class InspectPlugin implements ControlPlugin {
  readonly api = 'cedalo/inspect';
  readonly #options: InspectPluginOptions;
  readonly #changed = new Set<string>();
  readonly #stop: () => void;
  #timer: NodeJS.Timeout | null = null;
  #sequence = 0;

  constructor(options: InspectPluginOptions) {
    this.#options = options;
    this.#stop = options.registry.onChange((clientId) => {
      this.#changed.add(clientId);
      this.#timer ??= setTimeout(() => this.#tell(), options.collectMs ?? 50);
    });
  }

  execute(command: ControlCommand): unknown {
    return runCommandOf({ listclients: (c) => this.#list(c), getclient: (c) => this.#get(c) }, command);
  }

  close(): void {
    this.#stop();
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #list(command: ControlCommand): ListClientsData | { readonly clients: readonly string[] } {
    const { verbose, count, offset } = pageOf(command);
    const { registry, since } = this.#options;
    const ids = registry.sortedIds();
    const page = offset === 0 && count >= ids.length ? ids : ids.slice(offset, offset + count);
    const about = { totalCount: ids.length, sequence: this.#sequence, since };
    if (!verbose) return { ...about, clients: page };
    return { ...about, clients: page.map((id) => this.#summary(id)).filter((client) => client !== null) };
  }

  #get(command: ControlCommand): ConnectedClientDetail {
    const clientId = requiredText(command, 'clientid');
    const detail = this.#detail(clientId);
    if (!detail) throw new ControlRefusal('Client not found');
    return detail;
  }

  #tell(): void {
    this.#timer = null;
    const changed: ConnectedClientSummary[] = [];
    const removed: string[] = [];
    for (const clientId of this.#changed) {
      const summary = this.#summary(clientId);
      if (summary) changed.push(summary);
      else removed.push(clientId);
    }
    this.#changed.clear();
    this.#sequence += 1;
    this.#options.emit({ type: 'event', event: 'clientsChanged', sequence: this.#sequence, changed, removed });
  }

  #summary(clientId: string): ConnectedClientSummary | null {
    const { registry } = this.#options;
    const connection = registry.connection(clientId);
    const session = registry.session(clientId);
    if (!connection && !session) return null;
    const queues = session ? { queues: this.#queues(session, connection) } : {};
    const { about = null } = session ?? {};
    if (connection) {
      return {
        username: connection.identity?.username ?? ANONYMOUS,
        clientid: clientId,
        address: connection.address,
        protocol: connection.listener.protocol,
        protocolVersion: versionName(connection.protocolVersion),
        connected: true,
        lastConnect: connection.connectedAt,
        lastDisconnect: connection.previousDisconnect,
        remotePort: connection.remotePort,
        ...queues,
      };
    }
    if (!about) return { username: ANONYMOUS, clientid: clientId, connected: false, ...queues };
    return {
      username: about.username ?? ANONYMOUS,
      clientid: clientId,
      address: about.address,
      protocol: about.protocol,
      protocolVersion: versionName(about.protocolVersion),
      connected: false,
      lastConnect: about.lastConnect,
      lastDisconnect: about.lastDisconnect,
      ...queues,
    };
  }

  #detail(clientId: string): ConnectedClientDetail | null {
    const summary = this.#summary(clientId);
    if (!summary) return null;
    const { registry } = this.#options;
    const connection = registry.connection(clientId);
    const session = registry.session(clientId);
    const subscriptions = subscriptionsIn(connection, session);
    const detail = {
      ...summary,
      numSubscriptions: subscriptions.length,
      subscriptions: subscriptions.map(({ filter }) => filter),
      subscriptionQos: subscriptions.map(({ qos }) => qos),
      numDropped: (session?.dropped ?? 0) + (connection?.window?.dropped ?? 0),
      ...(session ? { inflight: inflightOf(session) } : {}),
    };
    if (connection) {
      const { published, publishedBytes, delivered, deliveredBytes, keepalive, isClean, listener, will } = connection;
      return {
        ...detail,
        numPublished: published,
        numSubscribed: delivered,
        bytesPublished: publishedBytes,
        bytesSubscribed: deliveredBytes,
        keepalive,
        cleanSession: isClean,
        listener: { port: listener.port, bind_address: listener.host },
        ...(will ? { will: { ...will, payload: Buffer.from(will.payload).toString('base64') } } : {}),
      };
    }
    if (!session?.about) return detail;
    const { keepalive, listener } = session.about;
    const bound = { port: listener.port, bind_address: listener.host };
    return { ...detail, keepalive, cleanSession: false, listener: bound };
  }

  #queues(session: Session, connection: Connection | undefined): ClientQueues {
    const { offlineMessages, onlineMessages, sessionBytes } = this.#options.limits;
    return {
      messagesOut: session.queue.size,
      messagesOutQos12: session.queue.size,
      messagesMax: connection ? onlineMessages : offlineMessages,
      bytesOut: session.queuedBytes,
      bytesMax: sessionBytes,
    };
  }
}

const versionName = (level: number): 'v3.1' | 'v3.1.1' | 'v5' => (level === 3 ? 'v3.1' : level === 5 ? 'v5' : 'v3.1.1');

function subscriptionsIn(connection: Connection | undefined, session: Session | undefined) {
  if (connection?.client) {
    const granted = Object.entries(subscriptionsOf(connection.client));
    return granted.map(([filter, subscription]) => ({ filter, qos: subscription?.qos ?? 0 }));
  }
  return Array.from(session?.subscriptions ?? [], ([filter, { qos }]) => ({ filter, qos }));
}

function inflightOf(session: Session): ClientInflight {
  let messagesOut = 0;
  let bytesOut = 0;
  for (const { packetId, message } of session.queue.values()) {
    if (packetId === undefined) continue;
    messagesOut += 1;
    bytesOut += message.payload.length;
  }
  return { messagesOut, bytesOut };
}
