import { ServiceError } from '../../../platform/errors.ts';
import { topicProblem } from '../../../protocol/mqtt/topics.ts';
import type { ArrivedMessage, MqttBridgeSession } from '../link/mqtt-bridge-session.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';
import type { BridgeRejection } from '../model/bridge-status.ts';
import type { BridgeQueue } from '../queue/bridge-queue.ts';
import type { QueueEntry } from '../queue/queue-entry.ts';
import { type BridgePath, PATH_TOO_LONG } from './bridge-path.ts';
import { DEFAULT_QOS, type TopicRule, targetProblem, targetTopic, type Way } from './mqtt-bridge-config.ts';
import type { ReturnedMessages } from './returned-messages.ts';
import { CALM_MS, Suspicion } from './suspicion.ts';

const MAX_IN_FLIGHT = 2_000;
const MOST_BYTES = 8 * 1_048_576;
/** Maximum milliseconds for acknowledgements when the direction is closed. */
const DRAIN_MS = 1_000;

interface OneWayOptions {
  readonly way: Way;
  readonly target: MqttBridgeSession;
  readonly queue: BridgeQueue;
  readonly path: BridgePath;
  /** Shared by both directions. */
  readonly returned: ReturnedMessages;
  readonly onCount: () => void;
}

interface WayCounts {
  received: number;
  delivered: number;
  expired: number;
  looped: number;
  rejected: number;
}

/**
 * One direction of a connection: receives the messages of its rules, queues them and publishes them at the target. The
 * queue decides when a message is acknowledged at the source. A message that the target refuses permanently is counted
 * and dropped.
 */
export class OneWay {
  readonly counts: WayCounts = { received: 0, delivered: 0, expired: 0, looped: 0, rejected: 0 };
  lastRejection: BridgeRejection | null = null;
  readonly queue: BridgeQueue;
  readonly #options: OneWayOptions;
  readonly #suspicion = new Suspicion();
  #calm: NodeJS.Timeout | undefined;
  #isConnected = false;
  /** Acknowledgements of an earlier connection are ignored. */
  #connection = 0;
  #inFlight = 0;
  #bytesInFlight = 0;
  #isPumping = false;
  #onDrained: (() => void) | null = null;

  constructor(options: OneWayOptions) {
    this.#options = options;
    this.queue = options.queue;
    this.queue.setDelivering(false);
    this.queue.onReady(() => this.#pump());
  }

  arrived(message: ArrivedMessage, rules: readonly TopicRule[]): void {
    const { way, path, returned } = this.#options;
    const properties = path.extend(message.properties);
    if (properties === 'PASSED') {
      message.taken();
      return;
    }
    if (properties === 'TOO_LONG') {
      this.counts.received += 1;
      this.#reject(`"${message.topic}": ${PATH_TOO_LONG}`);
      message.taken();
      this.#options.onCount();
      return;
    }
    if (!returned.arrived(message.topic, message.payload)) {
      this.counts.received += 1;
      this.counts.looped += 1;
      message.taken();
      this.#options.onCount();
      return;
    }
    let left = rules.length;
    const taken = () => {
      left -= 1;
      if (left === 0) message.taken();
    };
    for (const { qos = DEFAULT_QOS, retain = true, ...rule } of rules) {
      const topic = targetTopic(rule, way, message.topic);
      this.counts.received += 1;
      const problem = targetProblem(topic) ?? topicProblem(topic);
      if (problem !== null) {
        this.#reject(`"${message.topic}" would become a topic that ${problem}`);
        taken();
        continue;
      }
      const passed: BridgeMessage = {
        topic,
        payload: message.payload,
        qos: Math.min(message.qos, qos) as 0 | 1 | 2,
        retain: retain && message.retain,
        properties,
        receivedAt: message.receivedAt,
      };
      this.queue.push(passed, taken);
    }
    this.#options.onCount();
  }

  targetChanged(): void {
    const isConnected = this.#options.target.status.state === 'CONNECTED';
    if (isConnected === this.#isConnected) return;
    this.#isConnected = isConnected;
    this.#connection += 1;
    clearTimeout(this.#calm);
    if (!isConnected) this.#blame(this.#suspicion.lost(this.#inFlight));
    else if (this.#suspicion.connected()) this.#calm = setTimeout(() => this.#calmed(), CALM_MS);
    this.#inFlight = 0;
    this.#bytesInFlight = 0;
    this.queue.setDelivering(isConnected);
    if (!isConnected) this.queue.restore();
    this.#pump();
  }

  /** Stops publishing; resolves when all messages are acknowledged, or after DRAIN_MS. */
  drain(): Promise<void> {
    clearTimeout(this.#calm);
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#onDrained?.(), DRAIN_MS);
      this.#onDrained = () => {
        clearTimeout(timer);
        resolve();
      };
      if (this.#inFlight === 0) this.#onDrained();
    });
  }

  #pump(): void {
    if (this.#onDrained !== null) {
      if (this.#inFlight === 0) this.#onDrained();
      return;
    }
    if (this.#isPumping) return;
    this.#isPumping = true;
    while (this.#isConnected && this.#bytesInFlight < MOST_BYTES) {
      const most = this.#suspicion.most(MAX_IN_FLIGHT) - this.#inFlight;
      if (most <= 0) break;
      const entries = this.queue.take(most, MOST_BYTES - this.#bytesInFlight);
      if (entries.length === 0) break;
      for (const entry of entries) this.#deliver(entry);
    }
    this.#isPumping = false;
  }

  #deliver(entry: QueueEntry): void {
    const message = unexpired(entry.message);
    if (message === null) {
      this.counts.expired += 1;
      this.queue.settle(entry);
      this.#options.onCount();
      return;
    }
    const connection = this.#connection;
    const bytes = message.payload.length;
    this.#inFlight += 1;
    this.#bytesInFlight += bytes;
    this.#suspicion.sent(entry);
    this.#options.target.publish(message, (error) => {
      if (connection !== this.#connection) return;
      if (error?.code === 'BROKER_UNREACHABLE') {
        if (error.cause instanceof ServiceError) this.#suspicion.unanswered();
        return;
      }
      this.#inFlight -= 1;
      this.#bytesInFlight -= bytes;
      this.#done(entry, error);
    });
  }

  #calmed(): void {
    this.#suspicion.calm();
    this.#pump();
  }

  #done(entry: QueueEntry, error: ServiceError | null): void {
    if (error === null) this.counts.delivered += 1;
    else this.#reject(`"${entry.message.topic}": ${error.message}`);
    this.#suspicion.taken();
    this.queue.settle(entry);
    this.#options.onCount();
    this.#pump();
  }

  #blame(entry: QueueEntry | null): void {
    if (entry === null) return;
    this.#reject(`"${entry.message.topic}": The broker ended the connection each time that it came`);
    this.queue.settle(entry);
    this.#options.onCount();
  }

  #reject(reason: string): void {
    this.counts.rejected += 1;
    this.lastRejection = { at: Date.now(), reason };
  }
}

/** Subtracts the time in the queue from the expiry interval [MQTT-3.3.2-6]; `null` if the message expired. */
function unexpired(message: BridgeMessage): BridgeMessage | null {
  const interval = message.properties?.messageExpiryInterval;
  if (interval === undefined) return message;
  const messageExpiryInterval = interval - Math.floor((Date.now() - message.receivedAt) / 1_000);
  if (messageExpiryInterval === interval) return message;
  if (messageExpiryInterval <= 0) return null;
  return { ...message, properties: { ...message.properties, messageExpiryInterval } };
}
