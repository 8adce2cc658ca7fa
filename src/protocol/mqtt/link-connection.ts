import type { IConnackPacket, MqttClient } from 'mqtt';
import type { ISubackPacket } from 'mqtt-packet';
import { ServiceError } from '../../platform/errors.ts';
import type { IterationBatch } from '../../platform/scheduling/iteration-batch.ts';
import { AwaitedPings } from './awaited-pings.ts';
import type { BrokerMessage } from './broker-session.ts';
import { endClient } from './end-client.ts';
import { HeldMessages } from './held-messages.ts';
import { disconnected, failureOf, type LinkFailure } from './link-failure.ts';
import { type OutgoingLimits, OutgoingMessages, type Taken } from './outgoing-messages.ts';
import { PacketIds } from './packet-ids.ts';
import { type AnswerName, type IncomingPublish, LARGEST_PACKET } from './packet-reader.ts';
import { type OutgoingPacket, PacketWriter } from './packet-writer.ts';
import { subscribeRefusal } from './refused-packet.ts';
import { openSplitClient, type SplitClient, type SplitClientOptions } from './split-client.ts';
import type { SharedFilter } from './subscriptions.ts';

export interface ConnectionOptions extends SplitClientOptions {
  /** Longest wait for the answer to a publish, SUBSCRIBE or UNSUBSCRIBE. */
  readonly timeoutMs: number;
  /** Ids of the session's QoS 2 messages, which outlive the connection. Null: the session ends with it. */
  readonly received: Set<number> | null;
  /** See OutgoingLimits. */
  readonly isBoundedByCaller: boolean;
  /** See PacketWriter. */
  readonly iterationBatch: IterationBatch | undefined;
}

type WantedFilter = Pick<
  SharedFilter,
  'filter' | 'qos' | 'retained' | 'noLocal' | 'retainAsPublished' | 'retainedOnce'
>;

export interface ConnectionEvents {
  onConnected(packet: IConnackPacket): void;
  onMessage(message: BrokerMessage, identifiers: number | readonly number[] | undefined): void;
  /** Once, however it ends; null: the broker closed without a word. Not after `end`. */
  onOver(failure: LinkFailure | null): void;
}

/** What a broker of MQTT 3.1.1 takes at once: it cannot tell, and Mosquitto, for one, loses QoS 2 messages beyond 20 without a word. */
const UNTOLD_RECEIVE_MAXIMUM = 20;
const LARGEST_RECEIVE_MAXIMUM = 65_535;
/** Retain handling (MQTT 5, 3.8.3.1): messages that the broker keeps come for a new subscription alone, or never. */
const RETAINED_OF_NEW = 1;
const NO_RETAINED = 2;

/**
 * One attempt to connect, and the connection that came of it: a client of mqtt.js that never reconnects, which has the handshake, what
 * keeps the connection alive and the subscriptions; all that is read and written for messages is ours.
 * Errors of the constructor: a certificate or key that OpenSSL cannot read is thrown.
 */
export class LinkConnection {
  readonly version: 4 | 5;
  readonly #options: ConnectionOptions;
  readonly #events: ConnectionEvents;
  readonly #client: MqttClient;
  readonly #ids = new PacketIds();
  readonly #writer: PacketWriter;
  readonly #split: SplitClient;
  readonly #held: HeldMessages;
  #outgoing: OutgoingMessages | null = null;
  #identifiers: boolean;
  /** The broker ends the connection for a publish with more (MQTT 5, 3.2.2.3.4). */
  #maximumQos: 0 | 1 | 2 = 2;
  /** It does, too, for one that is to be retained where it retains none (3.2.2.3.5). */
  #retains = true;
  #failure: LinkFailure | null = null;
  #isOver = false;
  /** Rejects everything that waits for an answer to a SUBSCRIBE or UNSUBSCRIBE. */
  readonly #waiting = new Set<(error: ServiceError) => void>();
  /** By packet id of the SUBSCRIBE. */
  readonly #granting = new Map<number, () => void>();
  readonly #awaitedPings = new AwaitedPings();
  #isPaused = false;
  #pings: NodeJS.Timeout | null = null;

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    this.#options = options;
    this.#events = events;
    this.version = options.version;
    this.#identifiers = options.version === 5;
    // Its own log asks for each step of each packet whether it is wanted.
    const clientOptions = { ...options.client, messageIdProvider: this.#ids, log: () => undefined };
    this.#split = openSplitClient({ ...options, client: clientOptions }, this.#publishing);
    const { client } = this.#split;
    this.#client = client;
    const { stream } = client;
    this.#writer = new PacketWriter(stream, options.version, options.iterationBatch);
    this.#held = new HeldMessages(this.#writer, options.received ?? new Set());
    if ('setNoDelay' in stream && typeof stream.setNoDelay === 'function') stream.setNoDelay(true);
    this.#listen();
  }

  get isConnected(): boolean {
    return this.#outgoing !== null && !this.#isOver;
  }

  /** With no more QoS than the broker takes, and not retained where it retains nothing. Errors: as OutgoingMessages. */
  publish(packet: OutgoingPacket, done: Taken): void {
    const isTaken = packet.qos <= this.#maximumQos && (this.#retains || !packet.retain);
    if (this.#outgoing) this.#outgoing.send(isTaken ? packet : this.#asTaken(packet), done);
    else done(new ServiceError('BROKER_UNREACHABLE', 'Not connected yet'));
  }

  #asTaken(packet: OutgoingPacket): OutgoingPacket {
    const qos = Math.min(packet.qos, this.#maximumQos) as 0 | 1 | 2;
    return { ...packet, qos, retain: packet.retain && this.#retains };
  }

  /** `number`: identifies the subscription where the broker can. `retained`: those that it keeps come, too. */
  subscribe(wanted: WantedFilter, number: number, onGranted?: () => void): Promise<void> {
    const { filter, qos, retained, noLocal, retainAsPublished, retainedOnce } = wanted;
    const handling = retained ? RETAINED_OF_NEW : NO_RETAINED;
    const options = {
      qos,
      ...(this.version === 5 && (!retained || retainedOnce) ? { rh: handling } : {}),
      ...(this.version === 5 && noLocal ? { nl: true } : {}),
      ...(this.version === 5 && retainAsPublished ? { rap: true } : {}),
      ...(this.#identifiers ? { properties: { subscriptionIdentifier: number } } : {}),
    };
    return this.#answered((settle) => {
      const before = this.#ids.getLastAllocated();
      this.#client.subscribe(filter, options, (error) => settle(error ? subscribeRefusal(error) : null));
      const id = this.#ids.getLastAllocated();
      // mqtt.js tells of the answer when it has read on.
      if (onGranted && id !== before) this.#granting.set(id, () => this.#waiting.has(settle) && onGranted());
    });
  }

  /** Resolves with the broker's answer: what it sent before that was told. */
  ping(): Promise<void> {
    return this.#answered((settle) => {
      this.#client.sendPing();
      this.#awaitedPings.whenAnswered(() => settle(null));
    });
  }

  /** Waits for nothing: what is not answered ends with the session, or is done again. */
  unsubscribe(filters: string[]): void {
    if (this.isConnected) this.#client.unsubscribe(filters, () => undefined);
  }

  /** Nothing is read on until `resume`. The connection stays alive. */
  pause(): void {
    // The handshake is read in any case.
    if (this.#isPaused || !this.isConnected) return;
    this.#isPaused = true;
    this.#split.pause();
    // What tells that the broker is there is not read either, so only we say that we are.
    const { keepalive } = this.#client;
    if (!keepalive) return;
    this.#pings = setInterval(() => {
      if (!this.isConnected) return;
      this.#client.sendPing();
      this.#client.reschedulePing(true);
    }, keepalive * 500);
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#split.resume();
    if (this.#pings) clearInterval(this.#pings);
    this.#pings = null;
  }

  /** Nothing of it is told any more; resolves when the socket is gone, within half a second. */
  end(keepSession: boolean): Promise<void> {
    this.#overNow();
    return endClient(this.#client, { keepSession });
  }

  #listen(): void {
    const client = this.#client;
    const fail = (error: unknown) => {
      this.#failure ??= failureOf(error);
      this.#lost();
    };
    client.stream.on('error', fail);
    client.on('error', fail);
    client.on('disconnect', ({ reasonCode }) => {
      this.#failure ??= disconnected(reasonCode);
    });
    client.on('close', () => this.#lost());
    client.on('connect', (packet) => {
      if (this.#isOver) return;
      this.#outgoing = new OutgoingMessages(this.#writer, this.#ids, this.#limitsOf(packet));
      if (packet.properties?.maximumQoS !== undefined) this.#maximumQos = packet.properties.maximumQoS === 0 ? 0 : 1;
      this.#retains = packet.properties?.retainAvailable !== false;
      this.#identifiers &&= packet.properties?.subscriptionIdentifiersAvailable !== false;
      if (!packet.sessionPresent) this.#options.received?.clear();
      this.#events.onConnected(packet);
    });
    client.on('packetreceive', (packet) => {
      if (this.#isOver) return;
      if (packet.cmd === 'suback') this.#granted(packet);
      else if (packet.cmd === 'pingresp') this.#awaitedPings.answered();
    });
    client.on('packetsend', ({ cmd }) => {
      if (cmd === 'pingreq') this.#awaitedPings.sent();
    });
  }

  #granted({ messageId = 0, granted }: ISubackPacket): void {
    const tell = this.#granting.get(messageId);
    this.#granting.delete(messageId);
    if (Number(granted[0]) < 0x80) tell?.();
  }

  #limitsOf({ properties }: IConnackPacket): OutgoingLimits {
    const { timeoutMs, version, isBoundedByCaller } = this.#options;
    const untold = version === 5 ? LARGEST_RECEIVE_MAXIMUM : UNTOLD_RECEIVE_MAXIMUM;
    return {
      timeoutMs,
      version,
      receiveMaximum: properties?.receiveMaximum ?? untold,
      maximumPacketSize: Math.min(properties?.maximumPacketSize ?? LARGEST_PACKET, LARGEST_PACKET),
      isBoundedByCaller,
    };
  }

  /** What mqtt.js does not see. */
  readonly #publishing = {
    onPublish: (packet: IncomingPublish): void => {
      if (this.#isOver) return;
      const message = this.#held.arrived(packet);
      if (!message) return;
      this.#events.onMessage(message, packet.identifiers);
      message.release();
    },
    onAnswer: (name: AnswerName, id: number, reasonCode: number): void => {
      if (!this.#isOver) this.#outgoing?.answered(name, id, reasonCode);
    },
    onRelease: (id: number): void => {
      if (!this.#isOver) this.#held.forgotten(id);
    },
  };

  #lost(): void {
    if (this.#isOver) return;
    this.#overNow();
    endClient(this.#client).catch(() => undefined);
    this.#events.onOver(this.#failure);
  }

  #overNow(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.resume();
    this.#split.discard();
    this.#held.over();
    const flush = this.#client.connected && !this.#client.stream.destroyed;
    this.#writer.close(flush);
    this.#outgoing?.over();
    const gone = new ServiceError('BROKER_UNREACHABLE', 'The connection to the broker was lost', {
      info: { state: 'UNREACHABLE' },
    });
    for (const reject of this.#waiting) reject(gone);
    this.#waiting.clear();
  }

  /** Settles with the broker's answer, the end of the connection, or the time-out, whichever comes first. */
  #answered(send: (settle: (error: ServiceError | null) => void) => void): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const { timeoutMs } = this.#options;
      const settle = (error: ServiceError | null) => {
        clearTimeout(timer);
        this.#waiting.delete(settle);
        if (error) reject(error);
        else resolve();
      };
      const late = () => {
        // An answer that is not read yet is none that is missed.
        if (this.#isPaused) timer.refresh();
        else settle(new ServiceError('BROKER_TIMEOUT', `The broker sent no acknowledgement in ${timeoutMs} ms`));
      };
      const timer = setTimeout(late, timeoutMs);
      this.#waiting.add(settle);
      send(settle);
    });
  }
}
