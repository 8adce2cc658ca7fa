import { Bursts } from '../../platform/limits/bursts.ts';
import { RateLimit } from '../../platform/limits/rate-limit.ts';
import type { AuditFacts } from './audit-event.ts';

/** Maximum number of refused attempts of one caller in a row with an entry each. */
const SINGLE = 20;
const MAX_SERIES_MS = 3_600_000;
/** Maximum number of entries of all unknown callers, refilled by one per second. */
const MAX_UNKNOWN_ENTRIES = 300;

type Known = 'operation' | 'actor' | 'address' | 'via' | 'target' | 'projectId' | 'brokerId';

export interface RefusedAttempt extends Required<Pick<AuditFacts, Known>> {
  readonly code: string;
  readonly result?: 'REFUSED' | 'FAILED';
}

/** `attempt` is the most frequent one. */
export interface CountedAttempts {
  readonly attempt: RefusedAttempt;
  readonly count: number;
  readonly seconds: number;
  /** `null` if all are of one operation. */
  readonly operations: Readonly<Record<string, number>> | null;
}

interface Counted {
  attempt: RefusedAttempt;
  count: number;
}

interface Series {
  since: number;
  singles: number;
  readonly recorded: Set<string>;
  readonly counted: Map<string, Counted>;
}

interface SeriesKey {
  /** The credential or network of the caller, and the operation if it is counted separately. */
  readonly key: string;
  /** Attempts with the same subject have one entry. `null` if each attempt has one. */
  readonly subject: string | null;
}

/**
 * Counts the attempts without an entry, so that a scan of all operations does not fill the audit. Unknown callers are
 * counted separately, so that they do not evict known ones.
 */
export class RefusedAttempts {
  readonly #record: (counted: CountedAttempts) => void;
  readonly #known: Bursts<Series>;
  readonly #unknown: Bursts<Series>;
  readonly #overflow = newSeries();
  readonly #unknownEntries = new RateLimit({ perSecond: 1, burst: MAX_UNKNOWN_ENTRIES });

  constructor(record: (counted: CountedAttempts) => void) {
    this.#record = record;
    const bursts = (isKnown: boolean) =>
      new Bursts<Series>({ from: 1, onBegin: () => undefined, onEnd: (series) => this.#end(series, isKnown) });
    this.#known = bursts(true);
    this.#unknown = bursts(false);
  }

  isSingle(attempt: RefusedAttempt, { key, subject }: SeriesKey): boolean {
    const isKnown = attempt.actor.kind !== 'NOBODY';
    const bursts = isKnown ? this.#known : this.#unknown;
    const series = bursts.subjectOf(key) ?? newSeries();
    bursts.add(key, series);
    if (performance.now() - series.since >= MAX_SERIES_MS) this.#end(series, isKnown);
    const isNew = (subject === null || !series.recorded.has(subject)) && series.singles < SINGLE;
    if (isNew && (isKnown || this.#takeUnknownEntry())) {
      series.singles += 1;
      if (subject !== null) series.recorded.add(subject);
      return true;
    }
    count(series, attempt, 1);
    return false;
  }

  close(): void {
    this.#known.close();
    this.#unknown.close();
    this.#recordSeries(this.#overflow);
  }

  #end(series: Series, isKnown: boolean): void {
    if (series.counted.size > 0 && !isKnown && !this.#takeUnknownEntry()) {
      for (const { attempt, count: number } of series.counted.values()) {
        count(this.#overflow, { ...attempt, address: '' }, number);
      }
    } else this.#recordSeries(series);
    restart(series);
    if (performance.now() - this.#overflow.since < MAX_SERIES_MS) return;
    this.#recordSeries(this.#overflow);
    restart(this.#overflow);
  }

  #recordSeries({ counted, since }: Series): void {
    const [most] = [...counted.values()].sort((a, b) => b.count - a.count);
    if (most === undefined) return;
    const operations: Record<string, number> = {};
    let total = 0;
    for (const { attempt, count: number } of counted.values()) {
      operations[attempt.operation] = (operations[attempt.operation] ?? 0) + number;
      total += number;
    }
    this.#record({
      attempt: most.attempt,
      count: total,
      seconds: Math.round((performance.now() - since) / 1_000),
      operations: Object.keys(operations).length > 1 ? operations : null,
    });
  }

  #takeUnknownEntry(): boolean {
    return this.#unknownEntries.take('') === 0;
  }
}

const newSeries = (): Series => ({ since: performance.now(), singles: 0, recorded: new Set(), counted: new Map() });

const restart = (series: Series): Series => Object.assign(series, newSeries());

/** The number of keys is bounded: operations are fields of the graph. */
function count(series: Series, attempt: RefusedAttempt, number: number): void {
  const key = `${attempt.operation} ${attempt.code}`;
  const known = series.counted.get(key);
  if (known === undefined) {
    series.counted.set(key, { attempt, count: number });
    return;
  }
  known.count += number;
  const [one, other] = [known.attempt.target, attempt.target];
  // The target is recorded only if all attempts had the same one.
  if (one?.kind !== other?.kind || one?.id !== other?.id) {
    known.attempt = { ...known.attempt, target: null, projectId: null, brokerId: null };
  }
}
