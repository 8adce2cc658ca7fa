import { randomBytes } from 'node:crypto';
import { ServiceError } from '../../../platform/errors.ts';
import { IterationBatch } from '../../../platform/scheduling/iteration-batch.ts';
import { missingRights } from '../../../protocol/apis/missing-rights.ts';
import type { HostedLinkOptions } from '../../../protocol/hosting/hosted-link-options.ts';
import { BrokerLink } from '../../../protocol/mqtt/broker-link.ts';
import type { BrokerMessage, LinkStatus } from '../../../protocol/mqtt/broker-session.ts';
import { filterCovers } from '../../../protocol/mqtt/filter-match.ts';
import { MESSAGE_LINK_LIMITS } from '../../../protocol/mqtt/packet-limits.ts';
import { unreachable } from '../../../protocol/mqtt/when-connected.ts';
import type { QueryTopics, RecorderState, RecorderStatus, TopicRequests } from '../model/topic-recorder.ts';
import type { TopicSettings } from '../model/topic-settings.ts';
import { isOfControl, recordedFilters } from './recorded-topics.ts';
import { type Refusal, SubscribedFilters } from './subscribed-filters.ts';
import { SUBSCRIPTIONS_FILTER, SubscriptionLog } from './subscription-log.ts';
import { type RecordingRequest, TopicRecording } from './topic-recording.ts';

export interface RecordingRunOptions {
  readonly local: HostedLinkOptions;
  /**
   * Prefix of the client ids: `brokergraph-<brokerId>-topics`. Everything up to its last dash begins all client ids of
   * this service.
   */
  readonly clientId: string;
  readonly maxBytes: number;
  readonly onFault: (error: unknown) => void;
  /** Shared by the connections of a thread, which then count their messages together. Default: a new one. */
  readonly iterationBatch?: IterationBatch | undefined;
  readonly durations?: RunDurations | undefined;
}

/** Durations in milliseconds, for tests. */
export interface RunDurations {
  readonly firstResponseMs?: number;
  readonly refusedRetryMs?: number;
}

const DOLLAR = 36;
/** Maximum time in milliseconds that the first result waits for retained messages. */
const FIRST_RESPONSE_MS = 2_000;
const REFUSED_RETRY_MS = 30_000;
/**
 * Maximum number of messages with a QoS above the requested one, which violate the protocol. Their acknowledgements
 * accumulate in memory if the broker does not read them.
 */
const MAX_EXCESS_QOS = 1_000_000;
/** The broker allows the log topics but publishes nothing to them. */
const NO_SUBSCRIPTION_LOG =
  'The broker does not report subscriptions. Mosquitto reports them with these two lines in mosquitto.conf: ' +
  '"log_dest topic" and "log_type subscribe" (in addition to the existing log_dest and log_type lines).';
const NONE = { count: 0, leftOut: 0, isTruncated: false } as const;

/** One recording, from start to stop, over a connection of its own, which reconnects without limit. */
export class RecordingRun {
  readonly #options: RecordingRunOptions;
  readonly #link: BrokerLink;
  readonly #filters: SubscribedFilters;
  readonly #log: SubscriptionLog;
  readonly #iterationBatch: IterationBatch;
  /** Created at the first connection. Before that, nothing can be recorded. */
  #recording: TopicRecording | null = null;
  #settings: TopicSettings;
  #wasGranted = false;
  /** Whether the broker has granted all filters of this connection. */
  #isGranted = false;
  /** Epoch milliseconds of the loss of the connection. */
  #lostAt: number | null = null;
  /** Whether the broker reports subscriptions. `null` if it is not known yet. */
  #reportsSubscriptions: boolean | null = null;
  #reportsRetain = false;
  #excessQos = 0;
  #isInBatch = false;
  readonly #ready: Promise<void>;
  #setReady: () => void = () => undefined;

  constructor(options: RecordingRunOptions, settings: TopicSettings) {
    this.#options = options;
    this.#settings = settings;
    this.#iterationBatch = options.iterationBatch ?? new IterationBatch();
    const clientId = `${options.clientId}-${randomBytes(4).toString('hex')}`;
    this.#link = new BrokerLink({
      ...options.local,
      clientId,
      sessionExpirySeconds: 0,
      limits: MESSAGE_LINK_LIMITS,
      onFault: options.onFault,
    });
    this.#log = new SubscriptionLog({
      clientId,
      ownPrefix: options.clientId.slice(0, options.clientId.lastIndexOf('-') + 1),
      onSubscribed: (filter, qos) => this.#recording?.subscribed(filter, qos),
      onReleased: (filter) => this.#recording?.released(filter),
    });
    this.#link.onStatus((status) => this.#linkChanged(status));
    this.#filters = new SubscribedFilters({
      link: this.#link,
      onMessage: (message, mayBeRepeated) => this.#messageReceived(message, mayBeRepeated),
      onChange: () => this.#filtersChanged(),
      refusedRetryMs: options.durations?.refusedRetryMs ?? REFUSED_RETRY_MS,
    });
    this.#want();
    this.#ready = new Promise((resolve) => {
      const timer = setTimeout(resolve, options.durations?.firstResponseMs ?? FIRST_RESPONSE_MS);
      this.#setReady = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#link.open();
  }

  async apply(settings: TopicSettings): Promise<void> {
    this.#settings = settings;
    this.#want();
    await this.#recording?.apply(settings);
  }

  readonly query: QueryTopics = async (type, request, assertWanted) => {
    await this.#ready;
    if (type === 'status') return this.#status() as never;
    const { kind } = request as TopicRequests[RecordingRequest];
    const recording = this.#recording;
    if (recording === null) throw unreachable(this.#link.status);
    if (kind === 'SUBSCRIBED' && this.#reportsSubscriptions !== true) {
      const reason = this.#subscribedReason();
      throw new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { reason } });
    }
    return recording.query(type as RecordingRequest, request as never, assertWanted) as never;
  };

  async close(): Promise<void> {
    this.#setReady();
    this.#filters.close();
    this.#recording?.close();
    this.#recording = null;
    await this.#link.close();
  }

  #linkChanged({ state }: LinkStatus): void {
    if (state === 'CONNECTED') {
      this.#recording ??= new TopicRecording({
        settings: this.#settings,
        maxBytes: this.#options.maxBytes,
        isSubscribed: this.#log.isSubscribed,
      });
      this.#lostAt = null;
      this.#reportsRetain = this.#link.protocolVersion === 5;
      this.#excessQos = 0;
      return;
    }
    this.#lostAt ??= Date.now();
    this.#isGranted = false;
    this.#log.lost();
    this.#setReady();
  }

  #want(): void {
    const { excludedFilters } = this.#settings;
    const wanted = recordedFilters(this.#settings).filter(
      (filter) =>
        !isOfControl(filter) &&
        !filter.startsWith('$share/') &&
        !excludedFilters.some((excluded) => filterCovers(excluded, filter)),
    );
    this.#filters.want(wanted);
  }

  #filtersChanged(): void {
    const granted = recordedFilters(this.#settings).map((filter) => this.#filters.isGranted(filter));
    this.#wasGranted ||= granted.includes(true);
    const wasGranted = this.#isGranted;
    this.#isGranted = !granted.includes(false);
    if (this.#isGranted && !wasGranted) this.#recording?.missed();
    if (!this.#filters.isSettled) return;
    this.#reportsSubscriptions = this.#log.hasOwn;
    this.#setReady();
  }

  #messageReceived(message: BrokerMessage, mayBeRepeated: boolean): void {
    const { topic, payload, qos, retain } = message;
    if (!this.#isInBatch) {
      this.#isInBatch = true;
      this.#iterationBatch.add(this.#endBatch);
    }
    const recording = this.#recording;
    if (recording === null) return;
    if (topic.charCodeAt(0) === DOLLAR) this.#read(topic, payload);
    if (qos > 0) this.#countExcessQos();
    if (mayBeRepeated && recording.has(topic)) return;
    // A retained message with an empty payload deletes the retained message (MQTT 3.1.1, section 3.3.1.3).
    recording.record(topic, payload, qos, retain && payload.length > 0);
  }

  readonly #endBatch = (): void => {
    this.#isInBatch = false;
  };

  #read(topic: string, payload: Uint8Array): void {
    this.#log.read(topic, payload);
    // Subscriptions may be reported later than expected, for example if logging to topics was enabled meanwhile.
    if (this.#reportsSubscriptions === false && this.#log.hasOwn) this.#reportsSubscriptions = true;
  }

  #countExcessQos(): void {
    this.#excessQos += 1;
    if (this.#excessQos < MAX_EXCESS_QOS) return;
    this.#excessQos = 0;
    this.#link.restart('The broker sends messages with a higher QoS than requested');
  }

  #status(): RecorderStatus {
    const status = this.#recording?.status;
    const refusals = recordedFilters(this.#settings).flatMap((filter): [string, Refusal][] => {
      const refusal = this.#filters.refusals.get(filter);
      return refusal === undefined ? [] : [[filter, refusal]];
    });
    const deniedFilters = refusals.flatMap(([filter, { isDenied }]) => (isDenied ? [filter] : []));
    const state = this.#stateWith(deniedFilters);
    const seesSubscriptions = this.#reportsSubscriptions === true;
    return {
      state,
      reason: this.#reasonOf(state, refusals),
      since: this.#wasGranted && status ? status.since : null,
      asOf: this.#wasGranted ? (this.#lostAt ?? Date.now()) : null,
      isComplete: this.#isGranted && status?.isComplete === true,
      deniedFilters,
      published: status?.published ?? NONE,
      subscribed: seesSubscriptions ? (status?.subscribed ?? NONE) : null,
      subscribedReason: seesSubscriptions ? null : this.#subscribedReason(),
      memoryBytes: status?.memoryBytes ?? 0,
      messages: status?.messages ?? 0,
      tellsRetain: this.#reportsRetain,
    };
  }

  #stateWith(deniedFilters: readonly string[]): RecorderState {
    const { state } = this.#link.status;
    if (state === 'CONNECTING') return 'STARTING';
    if (state !== 'CONNECTED') return 'UNREACHABLE';
    if (deniedFilters.length > 0) return 'DENIED';
    return this.#wasGranted ? 'RECORDING' : 'STARTING';
  }

  #reasonOf(state: RecorderState, refusals: readonly (readonly [string, Refusal])[]): string | null {
    if (state === 'UNREACHABLE') return unreachable(this.#link.status).message;
    if (refusals.length === 0) return null;
    const lacking = refusals.filter(([, { isRightMissing }]) => isRightMissing).map(([filter]) => filter);
    const texts = refusals.filter(([, { isRightMissing }]) => !isRightMissing).map(([, { text }]) => text);
    return [...(lacking.length > 0 ? [missingRights(lacking, this.#link.username)] : []), ...new Set(texts)].join(' ');
  }

  #subscribedReason(): string {
    const refusal = this.#filters.refusals.get(SUBSCRIPTIONS_FILTER);
    if (refusal?.isRightMissing) return missingRights([SUBSCRIPTIONS_FILTER], this.#link.username);
    if (this.#link.status.state !== 'CONNECTED') return unreachable(this.#link.status).message;
    return refusal?.text ?? NO_SUBSCRIPTION_LOG;
  }
}
