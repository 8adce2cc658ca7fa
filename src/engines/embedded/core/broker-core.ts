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
import { ControlIntake, type ServeControl } from './control-intake.ts';
import { Delivery } from './delivery.ts';
import { DeliveryTurns } from './delivery-turns.ts';
import { Departures } from './departures.ts';
import { type Fault, Faults } from './faults.ts';
import { guardPersistence } from './guarded-persistence.ts';
import type { IncomingPacket } from './mqtt-packet-internals.ts';
import { OwnPublishes } from './own-publishes.ts';
import { guardPackets } from './packet-guard.ts';
import { meterPackets } from './packet-meter.ts';
import { PublishIntake } from './publish-intake.ts';
import { PublishTap } from './publish-tap.ts';
import { ReleaseIntake } from './release-intake.ts';
import { RetainedReadings } from './retained-readings.ts';
import { HeldBytes } from './send-window.ts';
import { SessionFaults } from './session-faults.ts';
import { readInSlices } from './sliced-reading.ts';
import { SocketBudget } from './socket-budget.ts';
import { SubscribeOrder } from './subscribe-order.ts';
import { guardSubscribe, guardUnsubscribe, hasValidFilters } from './subscription-packets.ts';

/** Told what becomes of subscriptions that end with their connections, each time after it did. Those of sessions the store tells. */
export interface BriefSubscriptionListener {
  /** It may have had them before. */
  subscribed(client: Client, subscriptions: readonly { readonly topic: string; readonly qos: 0 | 1 | 2 }[]): void;
  /** It may not have had the filter. Told of all when the connection ends. */
  unsubscribed(client: Client, filter: string): void;
}

export interface BrokerCoreOptions {
  readonly store: BrokerStore;
  readonly registry: ClientRegistry;
  readonly access: AccessControl;
  readonly serveControl: ServeControl;
  readonly limits: BrokerLimits & QueueLimits;
  readonly onProblem: (problem: string, error: Error) => void;
  /** Called for each CONNECT that was refused, with the user name that it came with. */
  readonly onRefused?: (connection: Connection, username: string | null, reason: RefusalReason) => void;
  /** Default: a problem. */
  readonly onFault?: (fault: Fault) => void;
}

/**
 * aedes 2.0.0-beta.1, with what it leaves open decided by ours: who is let in and what it may subscribe to (`Admission`), what happens to
 * a publish (`PublishIntake`) and how it reaches subscribers (`Delivery`). Here is what ties them to aedes' hooks and events.
 *
 * A client whose socket stays full slows its publishers down, and is disconnected after `drainTimeoutMs`.
 */
export class BrokerCore {
  readonly clients: ClientControl;
  readonly tap = new PublishTap();
  /** What the broker itself publishes. */
  readonly own: OwnPublishes;
  /** Set by whoever records them; null: nobody does. */
  briefSubscriptionListener: BriefSubscriptionListener | null = null;
  readonly #options: BrokerCoreOptions;
  readonly #aedes: Aedes;
  readonly #admission: Admission;
  readonly #budget: SocketBudget;
  readonly #held: HeldBytes;
  readonly #delivery: Delivery;
  readonly #intake: PublishIntake;
  readonly #departures: Departures;
  readonly #connections = new WeakMap<Client, Connection>();
  readonly #readingTime = new ReadingTime();
  readonly #retained: RetainedReadings;
  readonly #faults: Faults;
  readonly #sessionFaults: SessionFaults;

  private constructor(options: BrokerCoreOptions) {
    this.#options = options;
    this.#held = new HeldBytes(options.limits.totalBytes);
    const { store, registry, access, serveControl, limits, onProblem } = options;
    const { onFault = ({ text, error }: Fault) => onProblem(text, error as Error) } = options;
    this.#sessionFaults = new SessionFaults(store);
    this.#faults = new Faults(onFault, (connection) => this.#sessionFaults.failed(connection));
    const faults = this.#faults;
    this.#retained = new RetainedReadings({ retained: store.retained, time: this.#readingTime, faults });
    // A new id for each run: the numbers of delivered messages start again, and wills of earlier runs are known by it.
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
    const publishWill = (clientId: string, will: DelayedWill) => this.#intake.publishWill(clientId, will);
    const publishOwn: OwnPublishes['publish'] = (...publish) => this.own.publish(...publish);
    this.#departures = new Departures({ store, registry, publishOwn, publishWill, faults });
    this.own = new OwnPublishes({ store, delivery, tap });
    const onReturn = (clientId: string, connection: Connection) => this.#departures.returned(clientId, connection);
    this.#admission = new Admission({ store, registry, access, limits, onReturn });
    const number = () => delivery.number();
    this.clients = new ClientControl({ number, store, registry, admission: this.#admission });
    const control = new ControlIntake({ incoming: store.incoming, serve: serveControl, onProblem });
    const { maxIncoming } = limits;
    const delayWill = (clientId: string, will: DelayedWill) => this.#departures.delayWill(clientId, will);
    this.#intake = new PublishIntake({
      store,
      access,
      control,
      delivery: this.#delivery,
      turns: new DeliveryTurns(this.#readingTime, faults),
      own: this.own,
      tap,
      delayWill,
      maxIncoming,
      onProblem,
    });
  }

  /** Its hooks are called for clients, so once everything is made. */
  #createAedes(id: string): Aedes {
    const { store, limits } = this.#options;
    return new Aedes({
      id,
      // aedes hands its own client over.
      persistence: guardPersistence(
        new Persistence(
          store,
          (client, filter) => {
            const connection = this.#connections.get(client as Client);
            return connection !== undefined && this.#admission.mayKeep(connection, filter);
          },
          (client) => Boolean(this.#connections.get(client as Client)?.window),
        ),
        {
          releases: new ReleaseIntake(store),
          retained: this.#retained,
          onFault: (client, error) =>
            this.#faults.ofConnection(this.#connectionOf(client), "a client's packet could not be handled", error),
        },
      ),
      // No common bound on deliveries: one slow client would stall every publisher instead of its own.
      concurrency: 0,
      queueLimit: 1_000,
      connectTimeout: limits.connectTimeoutMs,
      drainTimeout: limits.drainTimeoutMs,
      maximumPacketSize: limits.maxPacketBytes,
      topicAliasMaximum: TOPIC_ALIASES,
      ...clientHooks({
        connectionOf: (client) => this.#connections.get(client),
        admission: () => this.#admission,
        intake: () => this.#intake,
        delivery: () => this.#delivery,
        faults: this.#faults,
        sessionFaults: this.#sessionFaults,
        onRefused: this.#options.onRefused,
        limits,
        held: this.#held,
      }),
    });
  }

  /** aedes hands over its own client, or a copy of its id. */
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
    aedes.on('client', (client) => guarded(client, (connection) => this.#connected(client, connection)));
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
    // EventEmitter's own event, which the types leave out: a failing persistence.
    (aedes as NodeJS.EventEmitter).on('error', (error: Error) => onProblem('the broker core failed', error));
  }

  #connected(client: Client, connection: Connection | undefined): void {
    if (connection && !connection.isClosed) this.#options.registry.connected(client.id, connection);
  }

  #subscribed(
    client: Client,
    connection: Connection | undefined,
    subscriptions: readonly { readonly topic: string; readonly qos: number }[],
  ): void {
    // It is told, too, where the connection has ended meanwhile.
    if (this.briefSubscriptionListener !== null && client.clean && !client.closed) {
      // Above 2 it says why it was refused.
      const granted = subscriptions.flatMap(({ topic, qos }) => (isQos(qos) ? [{ topic, qos }] : []));
      this.briefSubscriptionListener.subscribed(client, granted);
    }
    // SUBACK was written.
    connection?.subscribing?.settled(subscriptions);
    this.#retained.subscribed(connection);
  }

  #unsubscribed(client: Client, connection: Connection | undefined, filters: readonly string[]): void {
    if (connection) this.#admission.unsubscribed(client, connection);
    if (this.briefSubscriptionListener === null || !client.clean) return;
    for (const filter of filters) this.briefSubscriptionListener.unsubscribed(client, filter);
  }

  /** Goes on with what the last run left: wills, and sessions that end. Before that nobody may connect. */
  async resume(): Promise<void> {
    await this.#departures.resume(Date.now());
  }

  get refusedPublishes(): number {
    return this.#intake.refused;
  }

  /** QoS 0 messages that passed slow clients by, since the start. */
  get droppedDeliveries(): number {
    return this.#budget.dropped;
  }

  /** Serves MQTT on a stream until either side ends it. */
  readonly accept = (connection: Connection, stream: Duplex): void => {
    const { registry, access, limits } = this.#options;
    registry.opened(connection);
    stream.once('close', () => {
      this.#faults.run(undefined, 'the end of a connection could not be handled', () => this.#left(connection));
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

  /** Ends the connections of these accounts (null: those without user name) without their wills; their sessions stay. */
  readonly kick = (usernames: Iterable<string | null>): void => {
    for (const username of usernames) {
      for (const connection of [...this.#options.registry.claimedBy(username)]) void connection.kick();
    }
  };

  #left(connection: Connection): void {
    connection.subscribing?.end();
    connection.window?.close();
    this.#retained.left(connection);
    this.#admission.left(connection);
    const now = Date.now();
    const { registry } = this.#options;
    const clientId = connection.identity?.clientId;
    const isLeft = registry.closed(connection, now);
    if (isLeft && clientId !== undefined) this.#departures.left(clientId, connection, now);
  }

  /** Whether a client may publish on this topic now. */
  maySend(client: Client, topic: string): boolean {
    const identity = this.#connections.get(client)?.identity;
    return identity ? this.#options.access.mayPublish(identity, topic) : false;
  }

  /** Whether a client would get a message on this topic now. */
  receives(client: Client, topic: string): boolean {
    const identity = this.#connections.get(client)?.identity;
    if (!identity || !this.#options.access.mayReceive(identity, topic)) return false;
    return Object.keys(subscriptionsOf(client)).some((filter) => filterMatches(filter, topic));
  }

  /** To one client, whether or not it subscribed and may receive it. QoS 0. Resolves when it was written, or could not be. */
  sendTo(client: Client, topic: string, payload: string): Promise<void> {
    const connection = this.#connections.get(client);
    const packet = { cmd: 'publish', topic, payload: Buffer.from(payload), qos: 0, retain: false, dup: false } as const;
    return new Promise((resolve) => {
      // Whether it may go out is asked before this returns.
      if (connection) connection.isAnswered = true;
      client.publish(packet, () => resolve());
      if (connection) connection.isAnswered = false;
    });
  }

  /** Ends every connection; their sessions stay. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#aedes.close(resolve));
    const { registry } = this.#options;
    for (const connection of [...registry.open]) {
      connection.destroy();
      // Its `close` event comes when the journal is closed already.
      this.#left(connection);
    }
    this.#retained.close();
    this.#departures.close();
  }
}

const isQos = (qos: number): qos is 0 | 1 | 2 => qos <= 2;

/** MQTT 5: topic aliases that a client may have; Mosquitto's default. */
const TOPIC_ALIASES = 10;

/** MQTT 5: DISCONNECT may say another expiry, unless the session was to end with the connection [MQTT-3.14.2-2]. */
function noteDisconnect(connection: Connection, packet: IncomingPacket): void {
  if (packet.cmd !== 'disconnect') return;
  const { properties } = packet;
  const interval = properties?.sessionExpiryInterval;
  if (!properties || interval === undefined) return;
  if (connection.expirySeconds !== 0) connection.expirySeconds = expiryOf(interval);
  // `Departures` acts on it, not aedes.
  delete properties.sessionExpiryInterval;
}
