import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { Aedes, type Client } from 'aedes';
import { filterMatches } from '../../../protocol/mqtt/filter-match.ts';
import { ReadingTime } from '../../../protocol/mqtt/reading-time.ts';
import type { AccessControl } from '../access.ts';
import type { BrokerLimits, QueueLimits } from '../limits.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import { Persistence } from '../store/persistence.ts';
import type { DelayedWill } from '../store/will-store.ts';
import { Admission, expiryOf } from './admission.ts';
import { emitterOf, subscriptionsOf, useSafeBrokerTables, useSafeClientTables } from './aedes-internals.ts';
import { ClientControl } from './client-control.ts';
import { clientHooks } from './client-hooks.ts';
import type { ClientRegistry } from './client-registry.ts';
import type { RefusalReason } from './connect-refusal.ts';
import { type Connection, TOPIC_FILTER_INVALID } from './connection.ts';
import { controlHandler, type ServeControl } from './control-handler.ts';
import { Delivery } from './delivery.ts';
import { DeliveryScheduler } from './delivery-scheduler.ts';
import { type Fault, Faults, SessionFaults } from './faults.ts';
import { guardPersistence } from './guarded-persistence.ts';
import { InternalPublisher } from './internal-publisher.ts';
import type { IncomingPacket } from './mqtt-packet-internals.ts';
import { guardPackets, meterPackets } from './packet-guard.ts';
import { PublishHandler } from './publish-handler.ts';
import { PublishTap } from './publish-tap.ts';
import { PubrelHandler } from './pubrel-handler.ts';
import { RetainedDelivery } from './retained-delivery.ts';
import { ByteBudget } from './send-window.ts';
import { SessionExpiry } from './session-expiry.ts';
import { readInSlices } from './sliced-reading.ts';
import { SocketBudget } from './socket-budget.ts';
import { SubscribeOrder } from './subscribe-order.ts';
import { guardSubscribe, guardUnsubscribe, hasValidFilters } from './subscription-packets.ts';

/** Called after each change of subscriptions that end with their connection. */
interface TransientSubscriptionListener {
  /** The client may already have had the subscriptions. */
  subscribed(client: Client, subscriptions: readonly { readonly topic: string; readonly qos: 0 | 1 | 2 }[]): void;
  /** Also called for filters that the client had not subscribed to, and for all filters when the connection ends. */
  unsubscribed(client: Client, filter: string): void;
}

interface BrokerCoreOptions {
  readonly store: BrokerStore;
  readonly registry: ClientRegistry;
  readonly access: AccessControl;
  readonly serveControl: ServeControl;
  readonly limits: BrokerLimits & QueueLimits;
  readonly onProblem: (problem: string, error: Error) => void;
  readonly onRefused?: (connection: Connection, username: string | null, reason: RefusalReason) => void;
  readonly onFault: (fault: Fault) => void;
}

/** The MQTT broker: aedes 2.0.0-beta.1 with its own admission of clients, handling of publishes, and delivery. */
export class BrokerCore {
  readonly clients: ClientControl;
  readonly tap = new PublishTap();
  readonly publisher: InternalPublisher;
  /** `null` while subscriptions are not recorded. */
  transientSubscriptionListener: TransientSubscriptionListener | null = null;
  readonly #options: BrokerCoreOptions;
  readonly #aedes: Aedes;
  readonly #admission: Admission;
  readonly #budget: SocketBudget;
  readonly #windowBytes: ByteBudget;
  readonly #delivery: Delivery;
  readonly #publishHandler: PublishHandler;
  readonly #sessionExpiry: SessionExpiry;
  readonly #connections = new WeakMap<Client, Connection>();
  readonly #readingTime = new ReadingTime();
  readonly #retained: RetainedDelivery;
  readonly #faults: Faults;
  readonly #sessionFaults: SessionFaults;

  private constructor(options: BrokerCoreOptions) {
    this.#options = options;
    this.#windowBytes = new ByteBudget(options.limits.totalBytes);
    const { store, registry, access, serveControl, limits, onProblem } = options;
    this.#sessionFaults = new SessionFaults(store);
    this.#faults = new Faults(options.onFault, (connection) => this.#sessionFaults.failed(connection));
    const faults = this.#faults;
    this.#retained = new RetainedDelivery({ retained: store.retained, time: this.#readingTime, faults });
    // A new id for each run: message numbers restart, and the id identifies the wills of earlier runs.
    const id = randomUUID();
    this.#aedes = this.#createAedes(id);
    useSafeBrokerTables(this.#aedes);
    this.#budget = new SocketBudget({
      limits,
      connectedCount: () => registry.connectedCount,
      connectionOf: (clientId) => registry.connection(clientId),
    });
    this.#budget.watch(emitterOf(this.#aedes));
    const { tap } = this;
    this.#delivery = new Delivery({
      aedes: this.#aedes,
      store,
      access,
      ownTopics: `$SYS/${id}/`,
      budget: this.#budget,
      faults,
    });
    const delivery = this.#delivery;
    this.publisher = new InternalPublisher({ store, delivery, tap });
    const publishWill = (clientId: string, will: DelayedWill) => this.#publishHandler.publishWill(clientId, will);
    this.#sessionExpiry = new SessionExpiry({ store, registry, publisher: this.publisher, publishWill, faults });
    const onReturn = (clientId: string, connection: Connection) => this.#sessionExpiry.returned(clientId, connection);
    this.#admission = new Admission({ store, registry, access, limits, onReturn });
    const number = () => delivery.number();
    this.clients = new ClientControl({ number, store, registry, admission: this.#admission });
    const control = controlHandler({ incoming: store.incoming, serve: serveControl, onProblem });
    this.#publishHandler = new PublishHandler({
      store,
      access,
      control,
      delivery,
      scheduler: new DeliveryScheduler(this.#readingTime, faults),
      publisher: this.publisher,
      tap,
      delayWill: (clientId, will) => this.#sessionExpiry.delayWill(clientId, will),
      maxIncoming: limits.maxIncoming,
      onProblem,
    });
  }

  /** The hooks are called for clients, so after all parts were created. */
  #createAedes(id: string): Aedes {
    const { store, limits } = this.#options;
    return new Aedes({
      id,
      persistence: guardPersistence(
        new Persistence(
          store,
          (client, filter) => {
            const connection = this.#connections.get(client as Client);
            return connection !== undefined && this.#admission.mayStore(connection, filter);
          },
          (client) => Boolean(this.#connections.get(client as Client)?.window),
        ),
        {
          pubrel: new PubrelHandler(store),
          retained: this.#retained,
          onFault: (client, error) =>
            this.#faults.ofConnection(this.#connectionOf(client), "a client's packet could not be handled", error),
        },
      ),
      // A common limit on deliveries would let one slow client stall every publisher.
      concurrency: 0,
      queueLimit: 1_000,
      connectTimeout: limits.connectTimeoutMs,
      drainTimeout: limits.drainTimeoutMs,
      maximumPacketSize: limits.maxPacketBytes,
      topicAliasMaximum: TOPIC_ALIASES,
      ...clientHooks({
        connectionOf: (client) => this.#connections.get(client),
        admission: () => this.#admission,
        publishHandler: () => this.#publishHandler,
        delivery: () => this.#delivery,
        faults: this.#faults,
        sessionFaults: this.#sessionFaults,
        onRefused: this.#options.onRefused,
        limits,
        windowBytes: this.#windowBytes,
      }),
    });
  }

  #connectionOf(client: { readonly id: string }): Connection | undefined {
    const connection = this.#connections.get(client as Client);
    if (connection) return connection;
    return [...this.#options.registry.open].find((open) => open.identity?.clientId === client.id);
  }

  static async start(options: BrokerCoreOptions): Promise<BrokerCore> {
    const core = new BrokerCore(options);
    core.#followEvents();
    await core.#aedes.listen();
    return core;
  }

  #followEvents(): void {
    const { onProblem } = this.#options;
    const aedes = this.#aedes;
    const guarded = (client: Client, work: (connection: Connection | undefined) => void) => {
      const connection = this.#connections.get(client);
      this.#faults.run(connection, 'what a client asked for could not be completed', () => work(connection));
    };
    aedes.on('client', (client) =>
      guarded(client, (connection) => {
        if (connection && !connection.isClosed) this.#options.registry.connected(client.id, connection);
      }),
    );
    aedes.on('connackSent', (_connack, client) => this.#connections.get(client)?.readOn());
    aedes.on('clientReady', (client) =>
      guarded(client, (connection) => {
        if (!connection) return;
        connection.isReady = true;
        this.#sessionFaults.ready(connection);
        this.#delivery.drained(client, connection);
      }),
    );
    aedes.on('subscribe', (subscriptions, client) =>
      guarded(client, (connection) => this.#subscribed(client, connection, subscriptions)),
    );
    aedes.on('unsubscribe', (filters, client) =>
      guarded(client, (connection) => this.#unsubscribed(client, connection, filters)),
    );
    // The event of EventEmitter, which the types of aedes do not declare: the persistence has failed.
    (aedes as NodeJS.EventEmitter).on('error', (error: Error) => onProblem('the broker core failed', error));
  }

  #subscribed(
    client: Client,
    connection: Connection | undefined,
    subscriptions: readonly { readonly topic: string; readonly qos: number }[],
  ): void {
    // aedes emits `subscribe` also after the connection has ended.
    if (this.transientSubscriptionListener !== null && client.clean && !client.closed) {
      // Values above 2 are reason codes of refused subscriptions.
      const granted = subscriptions.flatMap(({ topic, qos }) => (isQos(qos) ? [{ topic, qos }] : []));
      this.transientSubscriptionListener.subscribed(client, granted);
    }
    connection?.subscribing?.settled(subscriptions);
    this.#retained.subscribed(connection);
  }

  #unsubscribed(client: Client, connection: Connection | undefined, filters: readonly string[]): void {
    if (connection) this.#admission.unsubscribed(client, connection);
    if (this.transientSubscriptionListener === null || !client.clean) return;
    for (const filter of filters) this.transientSubscriptionListener.unsubscribed(client, filter);
  }

  /** Publishes the wills and resumes the session expiry of the last run. Call it before clients may connect. */
  async resume(): Promise<void> {
    await this.#sessionExpiry.resume(Date.now());
  }

  get refusedPublishes(): number {
    return this.#publishHandler.refused;
  }

  /** Number of QoS 0 messages that were dropped for slow clients since the start. */
  get droppedDeliveries(): number {
    return this.#budget.dropped;
  }

  /** Serves MQTT on a stream until either side closes it. */
  readonly accept = (connection: Connection, stream: Duplex): void => {
    const { registry, access, limits } = this.#options;
    registry.open.add(connection);
    stream.once('close', () => {
      this.#faults.run(undefined, 'the end of a connection could not be handled', () => this.#closed(connection));
    });
    const client = this.#aedes.handle(stream);
    connection.client = client;
    this.#connections.set(client, connection);
    useSafeClientTables(client);
    const before = (packet: IncomingPacket) => {
      if (!hasValidFilters(packet)) return TOPIC_FILTER_INVALID;
      guardSubscribe(packet, (subscriptions) => {
        connection.subscribing ??= new SubscribeOrder(connection);
        connection.subscribing.began(subscriptions);
      });
      guardUnsubscribe(packet, connection, access);
      noteDisconnect(connection, packet);
      return null;
    };
    guardPackets(client, connection, { faults: this.#faults, before });
    connection.readOn = readInSlices(client, connection, this.#readingTime);
    meterPackets(client, connection, limits.maxPacketBytes, (packetId) => {
      this.#delivery.settled(client, connection, packetId);
    });
  };

  /** Closes the connections of these user names (`null`: none) without publishing wills; sessions stay. */
  readonly kick = (usernames: Iterable<string | null>): void => {
    for (const username of usernames) {
      for (const connection of [...this.#options.registry.claimedBy(username)]) void connection.kick();
    }
  };

  #closed(connection: Connection): void {
    connection.subscribing?.close();
    connection.window?.close();
    this.#retained.closed(connection);
    this.#admission.closed(connection);
    const now = Date.now();
    const { registry } = this.#options;
    const clientId = connection.identity?.clientId;
    const isOffline = registry.closed(connection, now);
    if (isOffline && clientId !== undefined) this.#sessionExpiry.closed(clientId, connection, now);
  }

  maySend(client: Client, topic: string): boolean {
    const identity = this.#connections.get(client)?.identity;
    return identity ? this.#options.access.mayPublish(identity, topic) : false;
  }

  receives(client: Client, topic: string): boolean {
    const identity = this.#connections.get(client)?.identity;
    if (!identity || !this.#options.access.mayReceive(identity, topic)) return false;
    return Object.keys(subscriptionsOf(client)).some((filter) => filterMatches(filter, topic));
  }

  /** Sends a message of QoS 0 without regard to subscriptions and permissions. Resolves also if it fails. */
  sendTo(client: Client, topic: string, payload: string): Promise<void> {
    const connection = this.#connections.get(client);
    const packet = { cmd: 'publish', topic, payload: Buffer.from(payload), qos: 0, retain: false, dup: false } as const;
    return new Promise((resolve) => {
      // aedes calls `authorizeForward` before `publish` returns.
      if (connection) connection.isReceivingResponse = true;
      client.publish(packet, () => resolve());
      if (connection) connection.isReceivingResponse = false;
    });
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#aedes.close(resolve));
    const { registry } = this.#options;
    for (const connection of [...registry.open]) {
      connection.destroy();
      // The `close` event of the stream would be emitted after the journal was closed.
      this.#closed(connection);
    }
    this.#retained.close();
    this.#sessionExpiry.close();
  }
}

const isQos = (qos: number): qos is 0 | 1 | 2 => qos <= 2;

/** MQTT 5: Topic Alias Maximum, as in Mosquitto. */
const TOPIC_ALIASES = 10;

/** MQTT 5: DISCONNECT may change the Session Expiry Interval, unless the interval of CONNECT is 0 [MQTT-3.14.2-2]. */
function noteDisconnect(connection: Connection, packet: IncomingPacket): void {
  if (packet.cmd !== 'disconnect') return;
  const { properties } = packet;
  const interval = properties?.sessionExpiryInterval;
  if (!properties || interval === undefined) return;
  if (connection.expirySeconds !== 0) connection.expirySeconds = expiryOf(interval);
  // `SessionExpiry` applies it. aedes would apply it, too.
  delete properties.sessionExpiryInterval;
}
