import { Broadcast, type BroadcastEvent } from '../../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../../gateway/live/live-source.ts';
import { type InputIssue, invalid, notFound, ServiceError } from '../../../platform/errors.ts';
import { topicProblem } from '../../../protocol/mqtt/topics.ts';
import type { BrokerCache, BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { AccessRefusals } from '../access-refusals.ts';
import { tailFilterProblem } from '../message-service.ts';
import { type DeletionProgress, RetainedDeletion } from './retained-deletion.ts';
import type { RetainedReadings } from './retained-readings.ts';

interface RetainedDeletionsOptions {
  readonly runtimes: BrokerRuntimes;
  readonly brokers: Pick<BrokerCache, 'onRemove'>;
  readonly readings: RetainedReadings;
  readonly refusals: AccessRefusals;
  readonly requireSupport: (broker: BrokerRecord) => void;
  readonly timeoutMs: number;
}

interface DeletionInput {
  readonly filter?: string | null | undefined;
  readonly topics?: readonly string[] | null | undefined;
  readonly dryRun?: boolean | null | undefined;
}

export interface DeletionReport {
  readonly broker: BrokerRecord;
  readonly deletion: DeletionProgress;
  /** For the audit. */
  readonly outcome: string;
}

interface DeletionChange {
  readonly deletion: DeletionProgress | null;
}

export type DeletionEvent = BroadcastEvent<DeletionChange, DeletionChange>;

export const MAX_DELETED_TOPICS = 1_000;
const MAX_RUNNING = 4;
const PROGRESS_MS = 500;

interface BrokerDeletions {
  readonly feed: Broadcast<DeletionChange, DeletionChange>;
  last: DeletionProgress | null;
  isRunning: boolean;
}

/** The deletions of retained messages of this process: one per broker at a time. */
export class RetainedDeletions {
  readonly #options: RetainedDeletionsOptions;
  readonly #brokers = new Map<string, BrokerDeletions>();
  readonly #stop: () => void;
  #running = 0;
  #isClosed = false;

  constructor(options: RetainedDeletionsOptions) {
    this.#options = options;
    this.#stop = options.brokers.onRemove(({ id }) => {
      this.#brokers.get(id)?.feed.close(notFound('broker', id));
      this.#brokers.delete(id);
    });
  }

  /**
   * Continues if the caller disconnects. Errors, before the first deletion: INVALID, NOT_SUPPORTED_BY_BROKER, IN_USE
   * (another deletion runs on the broker), RATE_LIMITED, NOT_ALLOWED and BROKER_REJECTED (the filter), and those of an
   * unreachable broker.
   */
  async run(broker: BrokerRecord, input: DeletionInput): Promise<DeletionReport> {
    const issues = issuesOf(input);
    if (issues.length > 0) throw invalid(issues);
    this.#options.requireSupport(broker);
    const known = this.#of(broker.id);
    if (known.isRunning) throw new ServiceError('IN_USE', 'Another deletion of retained messages runs on this broker');
    if (this.#running >= MAX_RUNNING) {
      throw new ServiceError('RATE_LIMITED', `At most ${MAX_RUNNING} deletions run at a time: try again later`);
    }
    this.#running += 1;
    known.isRunning = true;
    try {
      const deletion = await this.#deletion(broker, input, known).run();
      const { counts, total, isDryRun } = deletion;
      const done = isDryRun ? `${counts.WOULD_DELETE} would be deleted` : `${counts.DELETED} of ${total} deleted`;
      return { broker, deletion, outcome: `${deletion.state}: ${done}` };
    } finally {
      this.#running -= 1;
      known.isRunning = false;
    }
  }

  watch(broker: BrokerRecord, options: Pick<SubscriberOptions, 'signal' | 'after'>): LiveSource<DeletionEvent> {
    return this.#of(broker.id).feed.subscribe(options);
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
    for (const { feed } of this.#brokers.values()) feed.close();
  }

  #deletion(broker: BrokerRecord, { filter, topics, dryRun }: DeletionInput, known: BrokerDeletions): RetainedDeletion {
    const { runtimes, readings, refusals, timeoutMs } = this.#options;
    let publishedAt = 0;
    const deletion: RetainedDeletion = new RetainedDeletion({
      filter: filter ?? null,
      topics: [...new Set(topics ?? [])],
      isDryRun: dryRun === true,
      timeoutMs,
      read: (request) => readings.read(broker, request),
      link: () => runtimes.ask(broker, async ({ messages }) => messages, { triesNow: true }),
      explained: async (error, topic, clientId) =>
        (await refusals.explained(broker, error, { action: 'PUBLISH', topic, clientId })) as ServiceError,
      isStopped: () => this.#isClosed,
      onProgress: (isNewState) => {
        const now = Date.now();
        if (!isNewState && now - publishedAt < PROGRESS_MS) return;
        publishedAt = now;
        known.last = deletion.progress();
        known.feed.publish({ deletion: known.last });
      },
    });
    return deletion;
  }

  #of(brokerId: string): BrokerDeletions {
    let known = this.#brokers.get(brokerId);
    if (known === undefined) {
      const feed = new Broadcast<DeletionChange, DeletionChange>(() => ({ deletion: opened.last }), { history: 100 });
      const opened: BrokerDeletions = { feed, last: null, isRunning: false };
      known = opened;
      this.#brokers.set(brokerId, known);
    }
    return known;
  }
}

function issuesOf({ filter, topics }: DeletionInput): InputIssue[] {
  if ((filter == null) === (topics == null)) {
    return [{ path: 'input', reason: 'exactly one of filter and topics is required' }];
  }
  if (filter != null) return issueOf('input.filter', tailFilterProblem(filter) ?? dollarProblem(filter));
  const given = topics ?? [];
  if (given.length === 0 || given.length > MAX_DELETED_TOPICS) {
    return [{ path: 'input.topics', reason: `must have 1 to ${MAX_DELETED_TOPICS} entries` }];
  }
  return given.flatMap((topic, index) =>
    issueOf(`input.topics.${index}`, topicProblem(topic) ?? tailFilterProblem(topic) ?? dollarProblem(topic)),
  );
}

const issueOf = (path: string, reason: string | null): InputIssue[] => (reason === null ? [] : [{ path, reason }]);

/** The topics of the broker itself: `$SYS` belongs to it, and messages below `$CONTROL` are commands. */
const dollarProblem = (topic: string): string | null =>
  topic.startsWith('$') ? 'must not begin with $: such topics belong to the broker' : null;
