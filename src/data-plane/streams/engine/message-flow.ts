import type { ServiceError } from '../../../platform/errors.ts';
import type { MessageLog } from '../../log/message-log.ts';
import type { StreamDefinition } from '../model/stream-definition.ts';
import type { StreamMessage, StreamSession } from '../model/stream-session.ts';
import type { StreamProcessor } from '../query/stream-processor.ts';
import type { Backlog } from './backlog.ts';
import { publishRefusal } from './refusals.ts';
import type { StreamCounts } from './stream-counts.ts';

interface FlowOptions {
  readonly definition: StreamDefinition;
  readonly processor: StreamProcessor | null;
  readonly log: MessageLog | null;
  readonly session: StreamSession;
  readonly counts: StreamCounts;
  readonly backlog: Backlog;
  /** Called for each message that was to be stored, with `null` or the reason why it was not stored. */
  onStored(problem: string | null): void;
  onRefusal(): void;
}

interface Work {
  readonly release: () => void;
  readonly qos: 0 | 1 | 2;
  readonly bytes: number;
  pending: number;
  isLost: boolean;
}

/**
 * Processes a stream's messages by one definition: applies the query, stores and publishes, in order of arrival. A
 * message is acknowledged to the broker when all its work is done. If the publish was lost with the connection, the
 * message is not acknowledged and the broker redelivers it; with QoS 0 it is lost and counted as failed. A message that
 * could not be stored, or whose publish the broker refused, is counted and acknowledged, because redelivery would fail
 * too.
 */
export class MessageFlow {
  readonly #options: FlowOptions;
  readonly #processor: StreamProcessor | null;
  readonly #log: MessageLog | null;
  readonly #session: StreamSession;
  readonly #counts: StreamCounts;
  readonly #targetTopic: string | null;
  readonly #targetQos: StreamDefinition['targetQos'];
  /** Why the broker refused the last publish and how to correct it. `null` if it was accepted. */
  refusal: string | null = null;

  constructor(options: FlowOptions) {
    this.#options = options;
    // Copied into fields because they are read for each message.
    this.#processor = options.processor;
    this.#log = options.log;
    this.#session = options.session;
    this.#counts = options.counts;
    this.#targetTopic = options.definition.targetTopic;
    this.#targetQos = options.definition.targetQos;
  }

  take(message: StreamMessage): void {
    const counts = this.#counts;
    const now = Date.now();
    counts.received += 1;
    counts.lastReceived = now;
    let payload: Buffer | string = message.payload;
    if (this.#processor !== null) {
      const processed = this.#processor.process(message, now);
      if (processed.outcome === 'FILTERED') {
        counts.filter(now, processed.reason);
        return;
      }
      if (processed.outcome === 'FAILED') {
        counts.fail(now, processed.reason);
        return;
      }
      if (processed.text !== null) payload = processed.text;
    }
    if (this.#log !== null || this.#targetTopic !== null) this.#pass(message, payload);
  }

  #pass(message: StreamMessage, payload: Buffer | string): void {
    const log = this.#log;
    const target = this.#targetTopic;
    const { topic, qos } = message;
    const pending = (log === null ? 0 : 1) + (target === null ? 0 : 1);
    const work: Work = { release: message.hold(), qos, bytes: payload.length, pending, isLost: false };
    this.#options.backlog.begin(work.bytes);
    if (log !== null) log.append({ topic, payload, qos }, (problem) => this.#stored(work, problem));
    if (target !== null) {
      const targetQos = this.#targetQos === -1 ? qos : this.#targetQos;
      this.#session.publish(target, payload, targetQos, (error) => this.#published(work, error));
    }
  }

  #stored(work: Work, problem: string | null): void {
    if (problem === null) this.#counts.stored += 1;
    else this.#counts.notStore(Date.now(), problem);
    this.#options.onStored(problem);
    this.#done(work);
  }

  #published(work: Work, error: ServiceError | null): void {
    if (error === null) {
      this.#counts.published += 1;
      if (this.refusal !== null) this.#refusedFor(null);
    } else this.#notPublished(work, error);
    this.#done(work);
  }

  #notPublished(work: Work, error: ServiceError): void {
    const target = this.#targetTopic ?? '';
    if (error.code !== 'BROKER_UNREACHABLE') {
      const refusal = publishRefusal(error, target);
      this.#counts.fail(Date.now(), refusal);
      this.#refusedFor(refusal);
      return;
    }
    work.isLost = true;
    if (work.qos === 0) this.#counts.fail(Date.now(), `Not published on "${target}": ${error.message}`);
  }

  #refusedFor(refusal: string | null): void {
    if (refusal === this.refusal) return;
    this.refusal = refusal;
    this.#options.onRefusal();
  }

  #done(work: Work): void {
    work.pending -= 1;
    if (work.pending > 0) return;
    this.#options.backlog.end(work.bytes);
    if (!work.isLost) work.release();
  }
}
