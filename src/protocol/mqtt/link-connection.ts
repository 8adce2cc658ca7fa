import type { IConnackPacket, MqttClient } from 'mqtt';
import type { ISubackPacket } from 'mqtt-packet';
import { ServiceError } from '../../platform/errors.ts';
import type { IterationBatch } from '../../platform/scheduling/iteration-batch.ts';
import { loopClock } from '../../platform/scheduling/loop-clock.ts';
import { AwaitedPings } from './awaited-pings.ts';
import type { BrokerMessage } from './broker-session.ts';
import { disconnected, failureOf, type LinkFailure, SILENT } from './link-failure.ts';
import { BufferedMessages } from './message-buffers.ts';
import * as internals from './mqttjs-internals.ts';
import { type OutgoingLimits, OutgoingMessages, type Published } from './outgoing-messages.ts';
import { PacketIds } from './packet-ids.ts';
import type { PacketOrder } from './packet-order.ts';
import { type AcknowledgementName, type IncomingPublish, LARGEST_PACKET } from './packet-reader.ts';
import { type OutgoingPacket, PacketWriter } from './packet-writer.ts';
import { subscribeRefusal } from './refused-packet.ts';
import { openSplitClient, type SplitClient, type SplitClientOptions } from './split-client.ts';
import type { SharedFilter } from './subscriptions.ts';

interface ConnectionOptions extends SplitClientOptions {
  readonly timeoutMs: number;
  /** Packet identifiers of the session's QoS 2 messages. `null` if the session ends with the connection. */
  readonly received: Set<number> | null;
  /** Of the messages of the session. */
  readonly order: PacketOrder;
  readonly isBoundedByCaller: boolean;
  readonly iterationBatch: IterationBatch | undefined;
}

/** What the broker accepts (MQTT 5, 3.2.2.3). */
export interface PublishLimits {
  readonly version: 4 | 5;
  readonly maximumQos: 0 | 1 | 2;
  readonly isRetainAvailable: boolean;
}

interface ConnectionEvents {
  onConnected(packet: IConnackPacket): void;
  onMessage(message: BrokerMessage, identifiers: number | readonly number[] | undefined): void;
  /** Called once when the connection ends, but not after `end`. `null` if the broker closed it without a reason. */
  onOver(failure: LinkFailure | null): void;
}

/** MQTT 3.1.1 has no Receive Maximum. Mosquitto drops QoS 2 messages beyond 20 silently. */
const RECEIVE_MAXIMUM_3_1_1 = 20;
const LARGEST_RECEIVE_MAXIMUM = 65_535;
/** Retain Handling (MQTT 5, 3.8.3.1): retained messages are sent always, for a new subscription only, or never. */
const RETAINED = 0;
const RETAINED_IF_NEW = 1;
const NO_RETAINED = 2;
/** MQTT.js counts the time in which this process is busy. The longest time of a timer. */
const NO_TIMEOUT = 2 ** 31 - 1;

/**
 * One connection attempt and the resulting connection. An MQTT.js client that never reconnects does the handshake, the
 * keepalive, SUBSCRIBE and UNSUBSCRIBE. This service reads and writes the packets of publishing itself.
 */
export class LinkConnection {
  readonly version: 4 | 5;
  readonly #options: ConnectionOptions;
  readonly #events: ConnectionEvents;
  readonly #client: MqttClient;
  readonly #ids = new PacketIds();
  readonly #writer: PacketWriter;
  readonly #split: SplitClient;
  readonly #held: BufferedMessages;
  #outgoing: OutgoingMessages | null = null;
  #identifiers: boolean;
  /** MQTT 5, 3.2.2.3.4: the broker ends the connection if a publish has a higher QoS. */
  #maximumQos: 0 | 1 | 2 = 2;
  /** MQTT 5, 3.2.2.3.5: if false, the broker ends the connection if a retained message is published. */
  #isRetainAvailable = true;
  #failure: LinkFailure | null = null;
  #isOver = false;
  readonly #waiting = new Set<(error: ServiceError) => void>();
  readonly #granting = new Map<number, () => void>();
  readonly #awaitedPings = new AwaitedPings();
  #isPaused = false;
  #pings: NodeJS.Timeout | null = null;
  readonly #cancelTimeout: () => void;

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    this.#options = options;
    this.#events = events;
    this.version = options.version;
    this.#identifiers = options.version === 5;
    // The default logger of MQTT.js checks for every step of every packet whether it is enabled.
    const clientOptions = {
      ...options.client,
      connectTimeout: NO_TIMEOUT,
      messageIdProvider: this.#ids,
      log: () => undefined,
    };
    this.#split = openSplitClient({ ...options, client: clientOptions }, this.#publishing);
    this.#client = this.#split.client;
    this.#writer = new PacketWriter(this.#split.stream, options.version, options.iterationBatch);
    const order = options.version === 5 ? options.order : null;
    this.#held = new BufferedMessages(this.#writer, options.received ?? new Set(), order);
    this.#listen();
    this.#cancelTimeout = loopClock.after(options.timeoutMs, () => {
      this.#failure ??= { state: 'UNREACHABLE', text: SILENT };
      this.#lost();
    });
  }

  get isConnected(): boolean {
    return this.#outgoing !== null && !this.#isOver;
  }

  get publishing(): PublishLimits {
    return { version: this.version, maximumQos: this.#maximumQos, isRetainAvailable: this.#isRetainAvailable };
  }

  /** Reduces QoS and RETAIN to what the broker supports. Errors: see OutgoingMessages. */
  publish(packet: OutgoingPacket, done: Published): void {
    const isSupported = packet.qos <= this.#maximumQos && (this.#isRetainAvailable || !packet.retain);
    if (this.#outgoing) this.#outgoing.send(isSupported ? packet : this.#reduced(packet), done);
    else done(new ServiceError('BROKER_UNREACHABLE', 'Not connected yet'));
  }

  #reduced(packet: OutgoingPacket): OutgoingPacket {
    const qos = Math.min(packet.qos, this.#maximumQos) as 0 | 1 | 2;
    return { ...packet, qos, retain: packet.retain && this.#isRetainAvailable };
  }

  subscribe({ filter, qos, retained, options }: SharedFilter, number: number, onGranted?: () => void): Promise<void> {
    const { noLocal = false, retainAsPublished = false, retainedOnce = false } = options;
    const granted = retainedOnce ? RETAINED_IF_NEW : RETAINED;
    const rh = retained ? granted : NO_RETAINED;
    const subscription = {
      qos,
      ...(this.version === 5 ? { rh, nl: noLocal, rap: retainAsPublished } : {}),
      ...(this.#identifiers ? { properties: { subscriptionIdentifier: number } } : {}),
    };
    return this.#answered((settle) => {
      const id = internals.subscribe(this.#client, this.#ids, filter, subscription, (error) =>
        settle(error && subscribeRefusal(internals.subackReasonCode(error), error)),
      );
      // MQTT.js calls back after the packets that follow SUBACK; onGranted must be called before them.
      if (onGranted && id !== null) this.#granting.set(id, () => this.#waiting.has(settle) && onGranted());
    });
  }

  ping(): Promise<void> {
    return this.#answered((settle) => {
      internals.sendPing(this.#client);
      this.#awaitedPings.whenAnswered(() => settle(null));
    });
  }

  unsubscribe(filters: string[]): void {
    if (this.isConnected) this.#client.unsubscribe(filters, () => undefined);
  }

  /** Stops reading until `resume`. The connection stays alive. Does nothing during the handshake. */
  pause(): void {
    if (this.#isPaused || !this.isConnected) return;
    this.#isPaused = true;
    this.#split.pause();
    // PINGRESP is not read either, so this side sends PINGREQ without expecting a response.
    const keepalive = internals.keepaliveSeconds(this.#client);
    if (!keepalive) return;
    this.#pings = setInterval(() => {
      if (!this.isConnected) return;
      internals.sendPing(this.#client);
      internals.restartKeepalive(this.#client);
    }, keepalive * 500);
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#split.resume();
    if (this.#pings) clearInterval(this.#pings);
    this.#pings = null;
  }

  end(keepSession: boolean): Promise<void> {
    this.#overNow();
    return this.#split.end({ keepSession });
  }

  #listen(): void {
    const client = this.#client;
    const fail = (error: unknown) => {
      this.#failure ??= failureOf(error);
      this.#lost();
    };
    this.#split.stream.on('error', fail);
    client.on('error', fail);
    client.on('disconnect', ({ reasonCode }) => {
      this.#failure ??= disconnected(reasonCode);
    });
    client.on('close', () => this.#lost());
    client.on('connect', (packet) => {
      if (this.#isOver) return;
      this.#cancelTimeout();
      this.#outgoing = new OutgoingMessages(this.#writer, this.#ids, this.#limitsOf(packet));
      if (packet.properties?.maximumQoS !== undefined) this.#maximumQos = packet.properties.maximumQoS === 0 ? 0 : 1;
      this.#isRetainAvailable = packet.properties?.retainAvailable !== false;
      this.#identifiers &&= packet.properties?.subscriptionIdentifiersAvailable !== false;
      if (!packet.sessionPresent) {
        this.#options.received?.clear();
        this.#options.order.begin();
      }
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
    const onGranted = this.#granting.get(messageId);
    this.#granting.delete(messageId);
    if (Number(granted[0]) < 0x80) onGranted?.();
  }

  #limitsOf({ properties }: IConnackPacket): OutgoingLimits {
    const { timeoutMs, version, isBoundedByCaller } = this.#options;
    const defaultMaximum = version === 5 ? LARGEST_RECEIVE_MAXIMUM : RECEIVE_MAXIMUM_3_1_1;
    return {
      timeoutMs,
      version,
      receiveMaximum: properties?.receiveMaximum ?? defaultMaximum,
      maximumPacketSize: Math.min(properties?.maximumPacketSize ?? LARGEST_PACKET, LARGEST_PACKET),
      isBoundedByCaller,
    };
  }

  readonly #publishing = {
    onPublish: (packet: IncomingPublish): void => {
      if (this.#isOver) return;
      const message = this.#held.received(packet);
      if (!message) return;
      this.#events.onMessage(message, packet.identifiers);
      message.release();
    },
    onAcknowledgement: (name: AcknowledgementName, id: number, reasonCode: number): void => {
      if (!this.#isOver) this.#outgoing?.acknowledged(name, id, reasonCode);
    },
    onRelease: (id: number): void => {
      if (!this.#isOver) this.#held.released(id);
    },
  };

  #lost(): void {
    if (this.#isOver) return;
    this.#overNow();
    this.#split.end().catch(() => undefined);
    this.#events.onOver(this.#failure);
  }

  #overNow(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimeout();
    this.resume();
    this.#split.discard();
    this.#held.close();
    const flush = this.#client.connected && !this.#split.stream.destroyed;
    this.#writer.close(flush);
    this.#outgoing?.close();
    const lost = new ServiceError('BROKER_UNREACHABLE', 'The connection to the broker was lost', {
      info: { state: 'UNREACHABLE' },
    });
    for (const reject of this.#waiting) reject(lost);
    this.#waiting.clear();
  }

  #answered(send: (settle: (error: ServiceError | null) => void) => void): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const { timeoutMs } = this.#options;
      const settle = (error: ServiceError | null) => {
        cancelTimeout();
        this.#waiting.delete(settle);
        if (error) reject(error);
        else resolve();
      };
      const onTimeout = () => {
        // While paused a response may have arrived that is not read yet.
        if (this.#isPaused) cancelTimeout = loopClock.after(timeoutMs, onTimeout);
        else settle(new ServiceError('BROKER_TIMEOUT', `The broker sent no acknowledgement in ${timeoutMs} ms`));
      };
      let cancelTimeout = loopClock.after(timeoutMs, onTimeout);
      this.#waiting.add(settle);
      send(settle);
    });
  }
}
