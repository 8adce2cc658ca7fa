import type { ServiceError } from '../../../platform/errors.ts';
import type { StreamDefinition } from '../model/stream-definition.ts';
import type { StreamMessage, StreamSession } from '../model/stream-session.ts';
import type { StreamProcessor } from '../query/stream-processor.ts';
import type { MessageLog } from '../store/message-store.ts';
import type { Backlog } from './backlog.ts';
import { publishRefusal } from './refusals.ts';
import type { StreamCounts } from './stream-counts.ts';

export interface FlowOptions {
  readonly definition: StreamDefinition;
  /** Null: payloads pass as they are. */
  readonly processor: StreamProcessor | null;
  /** Null: nothing is stored. */
  readonly log: MessageLog | null;
  readonly session: StreamSession;
  readonly counts: StreamCounts;
  readonly backlog: Backlog;
  /** What was told of each message that was to be stored: null, or why it was not. */
  onStored(problem: string | null): void;
  /** `refusal` changed; it may do so with each message. */
  onRefusal(): void;
}

/** What came of one message and is not done yet. */
interface Work {
  readonly release: () => void;
  readonly qos: 0 | 1 | 2;
  readonly bytes: number;
  /** What is still to be told: stored, published. */
  pending: number;
  isLost: boolean;
}

/**
 * The way of a stream's messages by one definition: processed, stored, published, in the order of their arrival. The broker is told
 * that a message was taken when all that came of it is done. One whose publish was lost with the connection is never told as taken,
 * so the broker sends it again (QoS 0: it is lost, and counted); one that could not be stored, or that the broker refused to take,
 * is counted and told as taken, since to send it again would help nobody.
 */
export class MessageFlow {
  readonly #options: FlowOptions;
  readonly #processor: StreamProcessor | null;
  readonly #log: MessageLog | null;
  readonly #session: StreamSession;
  readonly #counts: StreamCounts;
  readonly #targetTopic: string | null;
  readonly #targetQos: StreamDefinition['targetQos'];
  #refusal: string | null = null;

  constructor(options: FlowOptions) {
    this.#options = options;
    // Read for each message.
    this.#processor = options.processor;
    this.#log = options.log;
    this.#session = options.session;
    this.#counts = options.counts;
    this.#targetTopic = options.definition.targetTopic;
    this.#targetQos = options.definition.targetQos;
  }

  /** Why the broker refused what was published last, and what would help; null: it did not. */
  get refusal(): string | null {
    return this.#refusal;
  }

  take(message: StreamMessage): void {
    const counts = this.#counts;
    const now = Date.now();
    counts.received += 1;
    counts.lastReceived = now;
    let payload: Buffer | string = message.payload;
    if (this.#processor !== null) {
      const processed = this.#processor.process(message.payload, now);
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
      if (this.#refusal !== null) this.#refusedFor(null);
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
    if (refusal === this.#refusal) return;
    this.#refusal = refusal;
    this.#options.onRefusal();
  }

  #done(work: Work): void {
    work.pending -= 1;
    if (work.pending > 0) return;
    this.#options.backlog.end(work.bytes);
    if (!work.isLost) work.release();
  }
}
