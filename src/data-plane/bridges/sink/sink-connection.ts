import { awayReason } from '../../../protocol/mqtt/when-connected.ts';
import { type ArrivedMessage, type BridgeSessionOptions, MqttBridgeSession } from '../link/mqtt-bridge-session.ts';
import { type SourceFilter, SourceSubscriptions } from '../link/source-subscriptions.ts';
import {
  type BridgeConnectionState,
  type BridgeConnectionStatus,
  type BridgeRejection,
  stateOfLink,
} from '../model/bridge-status.ts';
import { BridgeQueue } from '../queue/bridge-queue.ts';
import type { QueueLog } from '../queue/queue-log.ts';
import { QUEUE_BOUNDS } from '../queue/queue-storage.ts';
import { withMessageId } from './message-id.ts';
import { type BatchBounds, type Sink, type SinkConnectionConfig, type SinkTopic, subscribedTopics } from './sink.ts';
import { SinkDelivery } from './sink-delivery.ts';

export interface SinkKind<Config extends SinkConnectionConfig> {
  readonly batch: BatchBounds;
  topicsOf(config: Config): readonly SinkTopic[];
  /** Whether messages get ids that they keep until they are delivered. */
  wantsIds(config: Config): boolean;
  createSink(config: Config): Sink;
}

interface SinkConnectionOptions<Config extends SinkConnectionConfig> {
  readonly name: string;
  readonly kind: SinkKind<Config>;
  readonly session: BridgeSessionOptions;
  readonly log: QueueLog;
  readonly onChange: (part: 'STATE' | 'COUNTS') => void;
  readonly onFault: (error: unknown) => void;
}

interface State {
  readonly state: BridgeConnectionState;
  readonly error: string | null;
}

/**
 * One connection of a bridge from the broker to a sink: the reading session, the queue, and the delivery. A new
 * configuration keeps the session and the queue, so that no message is lost. An inactive connection deletes its
 * session, so that the broker queues nothing, and keeps its queue.
 */
export class SinkConnection<Config extends SinkConnectionConfig> {
  readonly #options: SinkConnectionOptions<Config>;
  readonly #queue: BridgeQueue;
  config: Config;
  #session: MqttBridgeSession | null = null;
  #subscriptions: SourceSubscriptions<SourceFilter> | null = null;
  #delivery: SinkDelivery | null = null;
  #wantsIds = false;
  #sinkState: State = { state: 'CONNECTING', error: null };
  #lastRejection: BridgeRejection | null = null;
  #reported: State = { state: 'INACTIVE', error: null };
  #since = Date.now();
  #received = 0;
  #delivered = 0;
  #rejected = 0;
  #queueProblem: string | null = null;

  /** Nothing is connected before `configure`. */
  constructor(options: SinkConnectionOptions<Config>, config: Config) {
    this.#options = options;
    this.config = config;
    this.#queue = new BridgeQueue({
      log: options.log,
      bounds: { ...QUEUE_BOUNDS, ...config.queue },
      onProblem: (reason) => {
        this.#queueProblem = reason;
        this.#changed();
      },
    });
  }

  get status(): BridgeConnectionStatus {
    const { state, error } = this.#reported;
    return {
      connectionName: this.#options.name,
      isConnected: state === 'CONNECTED',
      state,
      since: this.#since,
      ...(error === null ? {} : { error }),
      queuedMessages: this.#queue.length,
      queuedBytes: this.#queue.bytes,
      received: this.#received,
      delivered: this.#delivered,
      dropped: this.#queue.dropped,
      returned: 0,
      rejected: this.#rejected,
      ...(this.#lastRejection === null ? {} : { lastRejection: this.#lastRejection }),
    };
  }

  async configure(config: Config): Promise<void> {
    const { kind } = this.#options;
    this.config = config;
    await this.#delivery?.close();
    this.#delivery = null;
    this.#lastRejection = null;
    this.#queue.setBounds({ ...QUEUE_BOUNDS, ...config.queue });
    if (config.active === false) {
      this.#queue.setDelivering(false);
      await this.#endSession(true);
      this.#changed();
      return;
    }
    this.#wantsIds = kind.wantsIds(config);
    this.#sinkState = { state: 'CONNECTING', error: null };
    this.#delivery = new SinkDelivery({
      sink: kind.createSink(config),
      queue: this.#queue,
      batch: { ...kind.batch, ...config.batch },
      onState: (state, error) => {
        this.#sinkState = { state, error };
        this.#changed();
      },
      onDelivered: (delivered, rejected, reason) => {
        this.#delivered += delivered;
        this.#rejected += rejected;
        if (reason !== null) this.#lastRejection = { at: Date.now(), reason };
        this.#changed();
      },
      onFault: this.#options.onFault,
    });
    this.#openSession().want(subscribedTopics(kind.topicsOf(config)));
    this.#changed();
  }

  async close({ discard }: { readonly discard: boolean }): Promise<void> {
    await this.#delivery?.close();
    this.#delivery = null;
    // Messages in memory are written and acknowledged before the connection closes.
    await this.#queue.close({ discard });
    await this.#endSession(discard);
  }

  #openSession(): SourceSubscriptions<SourceFilter> {
    if (this.#subscriptions) return this.#subscriptions;
    const session = new MqttBridgeSession(this.#options.session);
    const subscriptions = new SourceSubscriptions<SourceFilter>({
      session,
      // A message that matches several filters is delivered once, if the broker sends it once for each.
      onMessage: (message, source) => {
        if (subscriptions.matching(message.topic) === source) this.#push(message);
        else message.taken();
      },
      onChange: () => this.#changed(),
    });
    session.onStatus(({ state }) => {
      if (state === 'CONNECTED') subscriptions.subscribe();
      this.#changed();
    });
    this.#session = session;
    this.#subscriptions = subscriptions;
    session.open();
    return subscriptions;
  }

  async #endSession(discard: boolean): Promise<void> {
    const session = this.#session;
    this.#subscriptions?.close();
    this.#session = null;
    this.#subscriptions = null;
    await session?.close({ discard });
  }

  #push(message: ArrivedMessage): void {
    this.#received += 1;
    const queued = this.#wantsIds ? withMessageId(message) : message;
    this.#queue.push(queued, () => message.taken());
    this.#delivery?.arrived();
    this.#options.onChange('COUNTS');
  }

  #changed(): void {
    const state = this.#state();
    const isStateChange = state.state !== this.#reported.state;
    if (isStateChange) this.#since = Date.now();
    const part = isStateChange || state.error !== this.#reported.error ? 'STATE' : 'COUNTS';
    this.#reported = state;
    this.#options.onChange(part);
  }

  /** The broker's side comes first, because without it the other side gets no messages. */
  #state(): State {
    if (this.config.active === false) return { state: 'INACTIVE', error: null };
    const link = this.#session?.status;
    if (link !== undefined && link.state !== 'CONNECTED' && link.state !== 'CLOSED') {
      return {
        state: stateOfLink(link.state),
        error: link.lastError === undefined ? null : `The broker: ${awayReason(link)}`,
      };
    }
    const refusal = this.#subscriptions?.refusal ?? null;
    if (refusal !== null) {
      const { filter, reason } = refusal;
      return { state: 'FAILED', error: `The broker refuses the subscription to "${filter}": ${reason}` };
    }
    if (this.#sinkState.state === 'CONNECTED' && this.#subscriptions?.isComplete === false) {
      return { state: 'CONNECTING', error: null };
    }
    if (this.#sinkState.state !== 'CONNECTED') {
      const { state, error } = this.#sinkState;
      return { state, error: joined(error, this.#queueProblem) };
    }
    return { state: 'CONNECTED', error: this.#queueProblem };
  }
}

const joined = (error: string | null, other: string | null): string | null =>
  error === null || other === null ? (error ?? other) : `${error}; ${other}`;
