import { ServiceError } from '../../../platform/errors.ts';
import { ConcurrencyLimit, QueueFull } from '../../../platform/scheduling/concurrency-limit.ts';
import { SerialQueues } from '../../../platform/scheduling/serial-queues.ts';
import type { BrokerMessage } from '../../../protocol/mqtt/broker-session.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntime } from '../../brokers/broker-runtime.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { AccessRefusals } from '../access-refusals.ts';
import { END_MARKER, type ReadingBounds, type ReadingResult, readRetained } from './retained-reader.ts';

export interface RetainedRequest {
  readonly filters: readonly string[];
  readonly qos?: 0 | 2;
  /** Called before each reading: a request may need several. The result receives its messages. */
  begin(): { receive(message: BrokerMessage): void; isComplete?(): boolean };
}

/** LIMITED: a bound ended the reading. UNPROVEN: the broker may have dropped messages, or they changed meanwhile. */
export type Completeness = 'COMPLETE' | 'LIMITED' | 'UNPROVEN';

interface RetainedReadingsOptions {
  readonly runtimes: BrokerRuntimes;
  readonly refusals: AccessRefusals;
  readonly timeoutMs: number;
}

const BOUNDS: ReadingBounds = { messages: 1_000_000, bytes: 512 * 1_048_576, ms: 30_000 };
/** Brokers do not drop messages below this number: Mosquitto 1.6 drops while 100 packets wait. */
const SURE_MESSAGES = 100;
const MAX_READINGS = 4;
const MAX_RUNNING = 4;
const MAX_WAITING = 20;

/**
 * Reads retained messages of brokers, one request per broker at a time. No broker reports what it drops at once, so
 * a large reading counts as complete only if two in a row give the same numbers. The embedded broker drops nothing.
 */
export class RetainedReadings {
  readonly #options: RetainedReadingsOptions;
  readonly #queues = new SerialQueues();
  readonly #limit = new ConcurrencyLimit({ maxRunning: MAX_RUNNING, maxWaiting: 100 });

  constructor(options: RetainedReadingsOptions) {
    this.#options = options;
  }

  /** Errors: RATE_LIMITED, NOT_ALLOWED and BROKER_REJECTED (the filter), and those of an unreachable broker. */
  async read(broker: BrokerRecord, request: RetainedRequest): Promise<Completeness> {
    if (this.#queues.waitingCount(broker.id) >= MAX_WAITING) throw tooMany();
    const work = () => this.#limit.run(() => this.#readProven(broker, request), { key: broker.projectId });
    try {
      return await this.#queues.run(broker.id, work);
    } catch (error) {
      throw error instanceof QueueFull ? tooMany() : error;
    }
  }

  async #readProven(broker: BrokerRecord, request: RetainedRequest): Promise<Completeness> {
    const { runtimes } = this.#options;
    let previous: ReadingResult | null = null;
    for (let left = MAX_READINGS; left > 0; left -= 1) {
      const runtime = await runtimes.ask(broker, async (one) => one);
      const result = await this.#readOnce(broker, runtime, request);
      if (result.end === 'LIMITED') return 'LIMITED';
      if (broker.engine === 'embedded' || result.messages <= SURE_MESSAGES) return 'COMPLETE';
      if (previous?.messages === result.messages && previous.bytes === result.bytes) return 'COMPLETE';
      previous = result;
    }
    return 'UNPROVEN';
  }

  async #readOnce(broker: BrokerRecord, runtime: BrokerRuntime, request: RetainedRequest): Promise<ReadingResult> {
    const { filters, qos = 0 } = request;
    const { refusals, timeoutMs } = this.#options;
    const link = runtime.retained;
    const receiver = request.begin();
    const hasMarker = runtime.sys.valueOf(END_MARKER) !== null && !filters.some((filter) => filter.startsWith('$'));
    try {
      return await readRetained({ link, filters, qos, timeoutMs, bounds: BOUNDS, hasMarker, ...receiver });
    } catch (error) {
      const [topic = ''] = filters;
      throw await refusals.explained(broker, error, { action: 'SUBSCRIBE', topic, clientId: link.clientId });
    }
  }
}

const tooMany = () =>
  new ServiceError('RATE_LIMITED', 'Too many readings of retained messages wait: try again later', {
    info: { retryAfterSeconds: 5 },
  });
