import { messageOf } from '../../../platform/errors.ts';
import { tlsProblem } from '../../../platform/network/tls-failure.ts';
import { filterCovers } from '../../../protocol/mqtt/filter-match.ts';
import type { SourceFilter } from '../link/source-subscriptions.ts';
import type { TrustedConnection } from '../model/bridge-kind.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';
import type { BridgeConnectionState } from '../model/bridge-status.ts';
import type { QueueBounds } from '../queue/queue-storage.ts';

export interface SinkConnectionConfig extends TrustedConnection {
  readonly name: string;
  /** Default: true. */
  readonly active?: boolean;
  readonly batch?: Partial<BatchBounds>;
  readonly queue?: Partial<QueueBounds>;
}

export interface BatchBounds extends QueueBounds {
  /** How long an incomplete batch waits for more messages. */
  readonly maxDelayMs: number;
}

/** The topics of the broker that are sent to a sink; the QoS is the maximum to subscribe with. */
export type SinkTopic = Pick<SourceFilter, 'filter' | 'qos'>;

export interface Delivered {
  readonly rejected: number;
  readonly reason: string | null;
}

export interface SinkTest {
  /** Of an HTTP endpoint; `null` for other targets. */
  readonly responseStatus: number | null;
}

/** The target of one connection of a bridge. One call at a time. */
export interface Sink {
  /** Connects if there is a connection, and checks the prerequisites. Errors: SinkFailure. */
  open(): Promise<void>;
  /**
   * Resolves when no message of the batch is to be delivered again. Errors: SinkFailure: as far as known, no message
   * was delivered, and all are sent again in the same batch. BadBatch: no message was delivered because of some of
   * them, and smaller batches follow.
   */
  deliver(batch: readonly BridgeMessage[]): Promise<Delivered>;
  /** Stores the only message of a bad batch elsewhere, if possible. Errors: SinkFailure. */
  setAside(message: BridgeMessage, reason: string): Promise<Delivered>;
  /** Connects as for a delivery, and checks what is possible without a change of the target. Errors: SinkFailure. */
  test(): Promise<SinkTest>;
  /** Notifies of a connection that is lost while no batch is in progress. */
  onLost(listener: (failure: SinkFailure) => void): void;
  /** Safe to call twice, and during a call, which then fails. The sink can be opened again. */
  close(): Promise<void>;
}

interface SinkFailureDetail {
  /** The pause that the endpoint requested, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** No further attempt until the configuration changes. */
  readonly isFinal?: boolean;
  /** A smaller batch may succeed. */
  readonly isTooMuch?: boolean;
  readonly cause?: unknown;
}

/** No message can be delivered now. */
export class SinkFailure extends Error {
  override readonly name = 'SinkFailure';
  readonly state: Extract<BridgeConnectionState, 'UNAUTHORISED' | 'UNREACHABLE' | 'FAILED'>;
  readonly detail: SinkFailureDetail;

  constructor(state: SinkFailure['state'], message: string, detail: SinkFailureDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.state = state;
    this.detail = detail;
  }
}

/** The reason of a failed connection. A host with several addresses fails with an AggregateError without a message. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(reasonOf).join('; ');
  return tlsProblem(error, SERVER) ?? messageOf(error);
}

const SERVER = { name: 'the server', ca: '"ca"' } as const;

/** Some message of the batch cannot be delivered, and it is not known which. */
export class BadBatch extends Error {
  override readonly name = 'BadBatch';
}

/** The filters to subscribe: a filter that another one covers is left out, and the higher QoS of both is used. */
export function subscribedTopics(topics: readonly SinkTopic[]): SourceFilter[] {
  const byFilter = new Map<string, SinkTopic>();
  for (const topic of topics) {
    const known = byFilter.get(topic.filter);
    if (known === undefined || known.qos < topic.qos) byFilter.set(topic.filter, topic);
  }
  const all = [...byFilter.values()];
  const isCovered = ({ filter }: SinkTopic) =>
    all.some((other) => other.filter !== filter && filterCovers(other.filter, filter));
  return all
    .filter((topic) => !isCovered(topic))
    .map(({ filter }) => {
      const covered = all.filter((other) => filterCovers(filter, other.filter));
      return { filter, qos: highestQos(covered), retained: true };
    });
}

const highestQos = (topics: readonly SinkTopic[]): 0 | 1 | 2 =>
  ([2, 1] as const).find((level) => topics.some(({ qos }) => qos === level)) ?? 0;
