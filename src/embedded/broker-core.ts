import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { Aedes, type AedesPublishPacket, type Client, type PublishPacket } from 'aedes';
import type { AccessControl } from './access.ts';
import type { ClientRegistry } from './client-registry.ts';
import { type Connection, subscriptionsOf } from './connection.ts';
import { meterPackets } from './packet-meter.ts';
import type { Accepted, Persistence, WillPacket } from './persistence.ts';
import { filterMatches } from './topic-filter.ts';

export interface BrokerLimits {
  readonly maxConnections: number;
  readonly maxPacketBytes: number;
  /** Persistent sessions, connected or not. They are never expired, so further ones are refused. */
  readonly maxSessions: number;
  /** Topic filters of one client. */
  readonly maxFilters: number;
  /**
   * QoS 2 publishes of one client that wait for PUBREL. MQTT 3.1.1 cannot tell a client to send fewer, and its PUBRELs come behind
   * its publishes, so the bound is the protocol's own: there are no more packet ids.
   */
  readonly maxIncoming: number;
  readonly connectTimeoutMs: number;
  /** How long a client may leave its socket full before it is disconnected. */
  readonly drainTimeoutMs: number;
}

export const DEFAULT_BROKER_LIMITS: BrokerLimits = {
  maxConnections: 20_000,
  maxPacketBytes: 10 * 1_048_576,
  maxSessions: 100_000,
  maxFilters: 10_000,
  maxIncoming: 65_535,
  connectTimeoutMs: 10_000,
  drainTimeoutMs: 10_000,
};

/** Serves a control request; resolves when it was answered. */
export type ServeControl = (client: Client, topic: string, payload: Uint8Array) => Promise<void>;

export interface BrokerCoreOptions {
  readonly persistence: Persistence;
  readonly registry: ClientRegistry;
  readonly access: AccessControl;
  readonly serveControl: ServeControl;
  readonly limits: BrokerLimits;
  readonly onProblem: (problem: string, error: Error) => void;
}

/** Where aedes may publish what was consumed or delivered already. Nobody can subscribe to it. */
const NOWHERE = '$nowhere';

/** MQTT 3.1.1 CONNACK return codes. */
const IDENTIFIER_REJECTED = 2;
const SERVER_UNAVAILABLE = 3;
const NOT_AUTHORIZED = 5;

/** Control requests of one client that may be under way before its next packet has to wait. */
const MAX_PENDING_CONTROL = 64;

/**
 * aedes 1.2, with what it leaves open decided here.
 *
 * Publishing. aedes acknowledges a QoS 1 publish before it stores it, numbers a message before it stores it and then drops
 * what is overtaken as a duplicate, and closes the connection of a client that may not publish. So every publish of QoS 1 or 2
 * is taken in here, in `authorizePublish`: stored and committed, then delivered, then acknowledged; aedes is left with a packet
 * for a topic that nobody has. What a client may not publish is acknowledged and dropped, as Mosquitto does. `$CONTROL` is
 * consumed here and never delivered.
 *
 * Delivering. A message leaves at the highest QoS that the client asked for it. While the queue of a session is being sent,
 * later messages wait behind it. A client whose socket stays full slows its publishers down, and is disconnected after
 * `drainTimeoutMs`.
 */
export class BrokerCore {
  readonly #options: BrokerCoreOptions;
  readonly #aedes: Aedes;
  readonly #connections = new WeakMap<Client, Connection>();
  readonly #ownTopics: string;
  #refusedPublishes = 0;

  private constructor(options: BrokerCoreOptions) {
    this.#options = options;
    const { persistence, limits } = options;
    // A new id for each run: the numbers of delivered messages start again, and wills of earlier runs are known by it.
    const id = randomUUID();
    this.#ownTopics = `$SYS/${id}/`;
    this.#aedes = new Aedes({
      id,
      persistence,
      // No common bound on deliveries: one slow client would stall every publisher instead of its own.
      concurrency: 0,
      queueLimit: 1_000,
      connectTimeout: limits.connectTimeoutMs,
      drainTimeout: limits.drainTimeoutMs,
      maxInflightInbound: limits.maxIncoming,
      preConnect: (client, packet, done) => {
        const connection = this.#connections.get(client);
        if (!connection) {
          done(null, false);
          return;
        }
        connection.protocolVersion = packet.protocolVersion ?? 4;
        connection.keepalive = packet.keepalive ?? 0;
        connection.isClean = packet.clean ?? true;
        connection.hasNoId = packet.clientId === '';
        if (packet.will) {
          const { topic, payload, qos, retain } = packet.will;
          connection.will = { topic, payload: Buffer.from(payload), qos: qos ?? 0, retain: retain ?? false };
        }
        done(null, true);
      },
      authenticate: (client, username, password, done) => {
        this.#admit(client, username, password).then(
          (refusal) => {
            // aedes answers CONNACK with `returnCode`.
            if (refusal === 0) done(null, true);
            else done(Object.assign(new Error('refused'), { returnCode: refusal }), false);
          },
          (error: Error) => {
            options.onProblem('a client could not be let in', error);
            done(Object.assign(new Error('refused'), { returnCode: SERVER_UNAVAILABLE }), false);
          },
        );
      },
      authorizePublish: (client, packet, done) => this.#takePublish(client, packet, done),
      authorizeSubscribe: (client, subscription, done) => {
        const connection = this.#connections.get(client);
        if (!connection || !this.#maySubscribe(client, connection, subscription.topic)) {
          done(null, null);
          return;
        }
        if (!subscriptionsOf(client)[subscription.topic]) connection.filters += 1;
        if (subscription.qos < connection.lowestQos) connection.lowestQos = subscription.qos;
        done(null, subscription);
      },
      authorizeForward: (client, packet) => this.#forward(client, packet),
    });
    persistence.admits = (client, filter) => {
      // aedes hands its own client over.
      const connection = this.#connections.get(client as Client);
      return connection !== undefined && this.#maySubscribe(client as Client, connection, filter);
    };
  }

  static async start(options: BrokerCoreOptions): Promise<BrokerCore> {
    const core = new BrokerCore(options);
    const { registry, persistence, onProblem } = options;
    const aedes = core.#aedes;
    aedes.on('client', (client) => {
      const connection = core.#connections.get(client);
      if (!connection || connection.isClosed) return;
      connection.connectedAt = Date.now();
      registry.connected(client.id, connection);
    });
    aedes.on('clientReady', (client) => core.#drained(client));
    aedes.on('unsubscribe', (_filters, client) => {
      const connection = core.#connections.get(client);
      if (connection) connection.filters = Object.keys(subscriptionsOf(client)).length;
    });
    // EventEmitter's own event, which the types leave out: a failing persistence.
    (aedes as NodeJS.EventEmitter).on('error', (error: Error) => onProblem('the broker core failed', error));
    await aedes.listen();
    // Clients that were connected when the last run ended: their connections ended with it, not by DISCONNECT.
    const wills: WillPacket[] = await persistence.streamWill().toArray();
    for (const will of wills) {
      await core.publish(will.topic, will.payload, { qos: will.qos === 0 ? 0 : 1, retain: will.retain });
      if (will.clientId !== undefined) await persistence.delWill({ id: will.clientId });
    }
    return core;
  }

  get refusedPublishes(): number {
    return this.#refusedPublishes;
  }

  /** Serves MQTT on a stream until either side ends it. */
  readonly accept = (connection: Connection, stream: Duplex): void => {
    const { registry, limits } = this.#options;
    registry.opened(connection);
    stream.once('close', () => registry.closed(connection, Date.now()));
    const client = this.#aedes.handle(stream);
    connection.client = client;
    this.#connections.set(client, connection);
    meterPackets(client, connection, limits.maxPacketBytes);
  };

  /** Publishes for the broker itself; no access control. Resolves when it is delivered to sockets, and durable if it must be. */
  async publish(
    topic: string,
    payload: Uint8Array | string,
    { qos = 0, retain = false }: { readonly qos?: 0 | 1 | 2; readonly retain?: boolean } = {},
  ): Promise<void> {
    const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
    const accepted = this.#options.persistence.accept(null, { topic, payload: bytes, qos, retain });
    if (qos > 0 && accepted.isDurable) await this.#options.persistence.commit();
    await new Promise<void>((resolve) => this.#deliver(null, { topic, payload: bytes, qos }, accepted, resolve));
  }

  /** To one client, whether or not it subscribed. QoS 0. */
  sendTo(client: Client, topic: string, payload: string): void {
    const packet = { cmd: 'publish', topic, payload: Buffer.from(payload), qos: 0, retain: false, dup: false } as const;
    // aedes calls the callback that its types leave out.
    client.publish(packet, () => {});
  }

  /** Ends every connection; their sessions stay. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#aedes.close(resolve));
    const { registry } = this.#options;
    for (const connection of registry.open) {
      connection.destroy();
      // Its `close` event comes when the journal is closed already.
      registry.closed(connection, Date.now());
    }
  }

  /** 0, or the CONNACK return code to refuse with. */
  async #admit(client: Client, username: string | undefined, password: Buffer | undefined): Promise<number> {
    const { access, registry, persistence, limits } = this.#options;
    const connection = this.#connections.get(client);
    if (!connection) return SERVER_UNAVAILABLE;
    const clientId = client.id;
    if (connection.hasNoId && !connection.isClean) return IDENTIFIER_REJECTED;
    if (registry.connectedCount >= limits.maxConnections && !registry.connection(clientId)) return SERVER_UNAVAILABLE;
    const verdict = await access.authenticate({ clientId, username, password });
    if (verdict === 'BUSY') return SERVER_UNAVAILABLE;
    if (verdict === 'REFUSED' || connection.will?.topic.startsWith('$CONTROL/')) return NOT_AUTHORIZED;
    // aedes takes over too, but later, when the old connection would delete the new one's will.
    const older = registry.connection(clientId)?.client;
    if (older) await new Promise<void>((resolve) => older.close(resolve));
    const isNewSession = !connection.isClean && !registry.session(clientId);
    if (isNewSession && persistence.sessions.count >= limits.maxSessions) return SERVER_UNAVAILABLE;
    if (connection.isClosed) return SERVER_UNAVAILABLE;
    connection.identity = { clientId, username: username ?? null };
    connection.previousDisconnect = registry.session(clientId)?.about?.lastDisconnect ?? null;
    if (connection.isClean) return 0;
    connection.isDraining = true;
    const { address, remotePort, protocolVersion, keepalive, listener, previousDisconnect } = connection;
    persistence.sessions.open(clientId, {
      username: username ?? null,
      address,
      remotePort,
      protocol: listener.protocol,
      protocolVersion,
      keepalive,
      listener: { port: listener.port, host: listener.host },
      lastConnect: Date.now(),
      lastDisconnect: previousDisconnect,
    });
    await persistence.commit();
    return 0;
  }

  #maySubscribe(client: Client, connection: Connection, filter: string): boolean {
    const { access, limits } = this.#options;
    const { identity } = connection;
    if (!identity || filter.startsWith('$share/') || filter.startsWith(NOWHERE)) return false;
    if (connection.filters >= limits.maxFilters && !subscriptionsOf(client)[filter]) return false;
    return access.maySubscribe(identity, filter);
  }

  #takePublish(client: Client | null, packet: PublishPacket, done: (error?: Error | null) => void): void {
    const connection = client && this.#connections.get(client);
    // A will is a packet without a command.
    if (!client || !connection || packet.cmd !== 'publish') {
      this.#takeWill(client, packet, done);
      return;
    }
    const { topic, payload, qos } = packet;
    connection.published += 1;
    connection.publishedBytes += payload.length;
    const { identity } = connection;
    if (!identity || !this.#options.access.mayPublish(identity, topic)) {
      this.#refusedPublishes += 1;
      consumed(packet);
      done();
      return;
    }
    if (topic.startsWith('$CONTROL/')) {
      this.#takeControl(client, connection, packet, done);
      return;
    }
    if (qos > 0) {
      this.#takeAcknowledged(client, connection, packet, done);
      return;
    }
    if (packet.retain) {
      this.#options.persistence.accept(null, packetRef(packet));
      // Stored; aedes would wait for it to be stored again and be overtaken by the next message.
      packet.retain = false;
    }
    done();
  }

  #takeControl(client: Client, connection: Connection, packet: PublishPacket, done: () => void): void {
    const { persistence, serveControl, onProblem } = this.#options;
    const { topic, qos, messageId } = packet;
    // Sent again before it was acknowledged: the command ran, aedes answers from the stored packet id.
    if (qos === 2 && messageId !== undefined && persistence.hasIncoming(client.id, messageId)) {
      done();
      return;
    }
    const payload = Buffer.from(packet.payload);
    consumed(packet);
    connection.pendingControl += 1;
    const served = serveControl(client, topic, payload)
      .catch((error: Error) => onProblem(`a request on ${topic} failed`, error))
      .finally(() => {
        connection.pendingControl -= 1;
      });
    if (connection.pendingControl < MAX_PENDING_CONTROL) {
      done();
      return;
    }
    void served.then(() => done());
  }

  #takeAcknowledged(
    client: Client,
    connection: Connection,
    packet: PublishPacket,
    done: (error?: Error | null) => void,
  ): void {
    const { persistence, limits, onProblem } = this.#options;
    const { topic, qos, messageId } = packet;
    const isRepeated = qos === 2 && messageId !== undefined && persistence.hasIncoming(client.id, messageId);
    if (isRepeated) {
      // aedes answers PUBREC from the stored packet id, which must be on disk by then.
      persistence.commit().then(() => done(), done);
      return;
    }
    if (qos === 2 && persistence.incomingCount(client.id) >= limits.maxIncoming) {
      done(new Error('too many QoS 2 publishes without PUBREL'));
      return;
    }
    const accepted = persistence.accept(client, packetRef(packet));
    const message = { topic, payload: packet.payload, qos };
    const deliver = () =>
      this.#deliver(client.id, message, accepted, () => {
        // QoS 2 is answered from its stored packet id; QoS 1 is still published by aedes after PUBACK.
        if (qos === 1) consumed(packet);
        done();
      });
    // Messages of one client keep their order, so one that needs no commit waits for those before it that do.
    if (!accepted.isDurable && connection.pendingCommits === 0) {
      deliver();
      return;
    }
    connection.pendingCommits += 1;
    persistence
      .commit()
      .then(deliver, (error: Error) => {
        onProblem('a publish could not be stored', error);
        done(error);
      })
      .finally(() => {
        connection.pendingCommits -= 1;
      });
  }

  #takeWill(client: Client | null, packet: PublishPacket, done: (error?: Error | null) => void): void {
    const { persistence, access, onProblem } = this.#options;
    const identity = client ? this.#connections.get(client)?.identity : null;
    if (!identity || !access.mayPublish(identity, packet.topic) || packet.topic.startsWith('$CONTROL/')) {
      consumed(packet);
      done();
      return;
    }
    const { topic, payload, qos } = packet;
    const accepted = persistence.accept(null, packetRef(packet));
    persistence
      .commit()
      .then(() => this.#deliver(identity.clientId, { topic, payload, qos }, accepted, () => {}))
      .catch((error: Error) => onProblem('a will could not be stored', error));
    consumed(packet);
    done();
  }

  /** Numbers the message and hands it to its subscribers at once: aedes drops a lower number after a higher one. */
  #deliver(
    publisherId: string | null,
    { topic, payload, qos }: { readonly topic: string; readonly payload: Uint8Array | string; readonly qos: number },
    { message }: Accepted,
    done: () => void,
  ): void {
    // `mq` and `counter` are what aedes itself publishes with; its own publish stores first.
    const { mq, id } = this.#aedes as unknown as AedesInternals;
    const internals = this.#aedes as unknown as AedesInternals;
    internals.counter += 1;
    const brokerCounter = internals.counter;
    if (message) this.#options.persistence.sessions.number(message, id, brokerCounter);
    const packet = { cmd: 'publish', brokerId: id, brokerCounter, topic, payload, qos, retain: false, dup: false };
    mq.emit(publisherId === null ? packet : { ...packet, clientId: publisherId }, () => done());
  }

  #forward(client: Client, packet: AedesPublishPacket): AedesPublishPacket | null {
    const connection = this.#connections.get(client);
    const identity = connection?.identity;
    if (!identity) return null;
    const { topic, qos, messageId, brokerId, retain } = packet;
    if (topic.startsWith(this.#ownTopics)) return null;
    // Messages from the queue have a packet id, retained ones and those that this class sends by itself no broker id.
    const isLive = messageId === undefined && Boolean(brokerId) && !retain;
    if (!this.#options.access.mayReceive(identity, topic)) {
      if (isLive && qos > 0) this.#options.persistence.discard(identity.clientId, packet.brokerCounter);
      return null;
    }
    if (isLive && connection.isDraining && qos > 0) return null;
    if (messageId === undefined && qos > connection.lowestQos) {
      packet.qos = grantedQos(client, topic, qos);
      if (isLive && packet.qos > 0 && connection.lowestQos === 0 && this.#sendAtHighest(client, packet)) return null;
    }
    connection.delivered += 1;
    connection.deliveredBytes += packet.payload.length;
    return packet;
  }

  /**
   * A client with filters of QoS 0 and of more: aedes sends the message once, for the first filter that matches, at QoS 0 if that
   * one is. So it is sent from here, where its QoS is known. False: aedes has to send it after all.
   */
  #sendAtHighest(client: Client, packet: AedesPublishPacket): boolean {
    if (subscriptionsOf(client)[packet.topic]?.qos === 0) {
      // Whatever is asked of it, aedes takes the QoS of the filter that equals the topic.
      this.#options.persistence.discard(client.id, packet.brokerCounter);
      return false;
    }
    const { deliverQoS } = client as unknown as AedesClientInternals;
    deliverQoS({ ...packet, brokerId: undefined }, () => {});
    return true;
  }

  /** CONNACK and the queue were sent. What came meanwhile goes out now, in order, and then messages are live. */
  #drained(client: Client): void {
    const connection = this.#connections.get(client);
    const session = this.#options.registry.session(client.id);
    if (!connection?.isDraining) return;
    connection.isDraining = false;
    if (!session) return;
    const { deliverQoS } = client as unknown as AedesClientInternals;
    // Without a broker id aedes does not take them for duplicates of the deliveries that were put off.
    for (const packet of this.#options.persistence.unsent(session)) {
      deliverQoS({ ...packet, brokerId: undefined }, () => {});
    }
  }
}

interface AedesInternals {
  readonly id: string;
  counter: number;
  readonly mq: { emit(packet: object, done: () => void): void };
}

interface AedesClientInternals {
  readonly deliverQoS: (packet: object, done: () => void) => void;
}

const packetRef = ({ topic, payload, qos, retain, messageId }: PublishPacket) => ({
  topic,
  payload,
  qos,
  retain,
  messageId,
});

function consumed(packet: PublishPacket): void {
  packet.topic = NOWHERE;
  packet.retain = false;
}

/** [MQTT-3.8.4-8] The lower of the message's QoS and the highest that was granted for it. */
function grantedQos(client: Client, topic: string, qos: 0 | 1 | 2): 0 | 1 | 2 {
  let granted: 0 | 1 | 2 = 0;
  const subscriptions = subscriptionsOf(client);
  for (const filter in subscriptions) {
    const offered = subscriptions[filter]?.qos ?? 0;
    if (offered > granted && filterMatches(filter, topic)) granted = offered;
    if (granted >= qos) return qos;
  }
  return granted;
}
