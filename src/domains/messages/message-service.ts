import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { type InputIssue, invalid, notFound } from '../../platform/errors.ts';
import type { LeasedLink } from '../../protocol/mqtt/leased-link.ts';
import { filterProblem, levelProblem } from '../../protocol/mqtt/topics.ts';
import type { BrokerCache, BrokerRecord } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import { BrokerTails } from './broker-tails.ts';
import type { TailEvent, TailLimits } from './message-tail.ts';

interface MessageServiceOptions {
  readonly runtimes: BrokerRuntimes;
  readonly brokers: BrokerCache;
  /** NOT_SUPPORTED_BY_BROKER if messages of a broker cannot be followed (a cluster). */
  readonly requireSupport: (broker: BrokerRecord) => void;
  readonly timeoutMs: number;
  /** Time until a tail without subscribers ends. Default: 10,000. */
  readonly graceMs?: number;
}

interface TailArguments extends TailLimits {
  readonly filter: string;
}

export const MAX_RATE = 1_000;
export const MAX_PAYLOAD_BYTES = 65_536;

export class MessageService {
  readonly #options: MessageServiceOptions;
  readonly #tails = new Map<string, BrokerTails>();
  readonly #stop: () => void;

  constructor(options: MessageServiceOptions) {
    this.#options = options;
    options.runtimes.onRuntime(({ id, observer }, change) => {
      if (change === 'OPENED') this.#tails.get(id)?.attach(observer);
      else this.#tails.get(id)?.detach();
    });
    this.#stop = options.brokers.onRemove(({ id }) => this.#tails.get(id)?.close(notFound('broker', id)));
  }

  /**
   * Sends the buffered messages, then new ones. Errors: INVALID, NOT_SUPPORTED_BY_BROKER, RATE_LIMITED, and those of an
   * unreachable broker. The stream ends with NOT_ALLOWED if the broker refuses the filter, with NOT_FOUND if it is
   * removed.
   */
  async watch(
    broker: BrokerRecord,
    { filter, ...limits }: TailArguments,
    options: Pick<SubscriberOptions, 'signal' | 'after'>,
  ): Promise<LiveSource<TailEvent>> {
    const issues = issuesOf(filter, limits);
    if (issues.length > 0) throw invalid(issues);
    const { runtimes, requireSupport } = this.#options;
    requireSupport(broker);
    const tail = await runtimes.ask(broker, ({ id, observer }) => this.#tailsOf(id, observer).open(filter, limits));
    return tail.watch(options);
  }

  close(): void {
    this.#stop();
    for (const tails of this.#tails.values()) tails.close();
    this.#tails.clear();
  }

  #tailsOf(id: string, observer: LeasedLink): BrokerTails {
    let tails = this.#tails.get(id);
    if (tails === undefined) {
      const { timeoutMs, graceMs = 10_000 } = this.#options;
      tails = new BrokerTails({ observer, timeoutMs, graceMs, onEmpty: () => this.#tails.delete(id) });
      this.#tails.set(id, tails);
    }
    return tails;
  }
}

function issuesOf(filter: string, { maxRate, maxPayloadBytes }: TailLimits): InputIssue[] {
  const issues: InputIssue[] = [];
  const problem = tailFilterProblem(filter);
  if (problem !== null) issues.push({ path: 'filter', reason: problem });
  if (maxRate < 1 || maxRate > MAX_RATE) issues.push({ path: 'maxRate', reason: `must be 1 to ${MAX_RATE}` });
  if (maxPayloadBytes < 0 || maxPayloadBytes > MAX_PAYLOAD_BYTES) {
    issues.push({ path: 'maxPayloadBytes', reason: `must be 0 to ${MAX_PAYLOAD_BYTES}` });
  }
  return issues;
}

/** They affect other clients of the broker, or reveal their secrets. */
const REFUSED_ROOTS = new Map([
  ['$share', 'must not be a shared subscription: it would take messages from the clients that consume them'],
  ['$queue', 'must not be a shared subscription: it would take messages from the clients that consume them'],
  ['$CONTROL', 'must not be below $CONTROL: commands and responses contain passwords'],
]);

/** Refuses also filters for which brokers close the connection. */
export function tailFilterProblem(filter: string): string | null {
  const problem = filterProblem(filter);
  if (problem !== null) return problem;
  // Mosquitto 2.0 closes the connection for these.
  if (/[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u.test(filter)) {
    return 'must not contain control characters or noncharacter code points';
  }
  // Beyond the limit Mosquitto closes the connection, and with it all other tails.
  return levelProblem(filter) ?? REFUSED_ROOTS.get(filter.split('/', 1)[0] ?? '') ?? null;
}
