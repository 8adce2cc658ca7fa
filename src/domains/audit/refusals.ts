import type { Transport } from '../../gateway/context.ts';
import { Bursts } from '../../platform/limits/bursts.ts';
import type { AuditActor, AuditTarget } from './audit-event.ts';

/** Of what one caller is refused in a row so many have an entry each; the rest is told by its number. */
const SINGLE = 20;
/** What goes on is told so often, and begins anew. */
const LASTING_MS = 3_600_000;
/** Callers who are not known have so many entries, all together, and one more each second. Then they are told as one. */
const ENTRIES_OF_NOBODY = 300;

/** An attempt that was refused, or that failed. */
export interface Attempt {
  readonly operation: string;
  readonly code: string;
  /** Default: REFUSED. */
  readonly result?: 'REFUSED' | 'FAILED';
  readonly actor: AuditActor;
  readonly address: string;
  readonly via: Transport;
  readonly target: AuditTarget | null;
  readonly projectId: string | null;
  readonly brokerId: string | null;
}

/** Attempts that are told by their number. `attempt`: what most of them were. */
export interface CountedAttempts {
  readonly attempt: Attempt;
  readonly count: number;
  readonly seconds: number;
  /** How many of each, where they are not all of one operation. */
  readonly operations: Readonly<Record<string, number>> | null;
}

interface Counted {
  attempt: Attempt;
  count: number;
}

interface Row {
  since: number;
  singles: number;
  /** What has an entry. */
  readonly told: Set<string>;
  /** By operation and code. */
  readonly counted: Map<string, Counted>;
}

export interface SeriesOfAttempt {
  /** Who asks: a credential or a network, and what else shall be counted for itself. */
  readonly key: string;
  /** Equal for what is one thing, of which the second time is no entry; null: each is one. */
  readonly thing: string | null;
}

/**
 * Decides which refused attempts have entries of their own, so that nobody fills the audit with what is refused: neither somebody who
 * tries everything, nor a page that asks each second with rights that have ended. Those of callers who are known and of others are
 * counted apart, so that the many who are not known push nobody out.
 */
export class Refusals {
  readonly #tell: (counted: CountedAttempts) => void;
  readonly #known: Bursts<Row>;
  readonly #unknown: Bursts<Row>;
  /** Of networks for which there was no room. */
  readonly #others = newRow();
  #room = ENTRIES_OF_NOBODY;
  #roomAt = performance.now();

  constructor(tell: (counted: CountedAttempts) => void) {
    this.#tell = tell;
    const bursts = (isKnown: boolean) =>
      new Bursts<Row>({ from: 1, onBegin: () => undefined, onEnd: (row) => this.#end(row, isKnown) });
    this.#known = bursts(true);
    this.#unknown = bursts(false);
  }

  /** Whether it has an entry of its own; else it is counted. */
  isSingle(attempt: Attempt, { key, thing }: SeriesOfAttempt): boolean {
    const isKnown = attempt.actor.kind !== 'NOBODY';
    const bursts = isKnown ? this.#known : this.#unknown;
    const row = bursts.subjectOf(key) ?? newRow();
    bursts.add(key, row);
    if (performance.now() - row.since >= LASTING_MS) this.#end(row, isKnown);
    const isNew = (thing === null || !row.told.has(thing)) && row.singles < SINGLE;
    if (isNew && (isKnown || this.#hasRoom())) {
      row.singles += 1;
      if (thing !== null) row.told.add(thing);
      return true;
    }
    count(row, attempt, 1);
    return false;
  }

  close(): void {
    this.#known.close();
    this.#unknown.close();
    this.#tellRow(this.#others);
  }

  #end(row: Row, isKnown: boolean): void {
    if (row.counted.size > 0 && !isKnown && !this.#hasRoom()) {
      for (const { attempt, count: number } of row.counted.values()) {
        count(this.#others, { ...attempt, address: '' }, number);
      }
    } else this.#tellRow(row);
    begin(row);
    if (performance.now() - this.#others.since < LASTING_MS) return;
    this.#tellRow(this.#others);
    begin(this.#others);
  }

  #tellRow({ counted, since }: Row): void {
    const [most] = [...counted.values()].sort((a, b) => b.count - a.count);
    if (most === undefined) return;
    const operations: Record<string, number> = {};
    let total = 0;
    for (const { attempt, count: number } of counted.values()) {
      operations[attempt.operation] = (operations[attempt.operation] ?? 0) + number;
      total += number;
    }
    this.#tell({
      attempt: most.attempt,
      count: total,
      seconds: Math.round((performance.now() - since) / 1_000),
      operations: Object.keys(operations).length > 1 ? operations : null,
    });
  }

  #hasRoom(): boolean {
    const now = performance.now();
    this.#room = Math.min(this.#room + (now - this.#roomAt) / 1_000, ENTRIES_OF_NOBODY);
    this.#roomAt = now;
    if (this.#room < 1) return false;
    this.#room -= 1;
    return true;
  }
}

const newRow = (): Row => ({ since: performance.now(), singles: 0, told: new Set(), counted: new Map() });

function begin(row: Row): void {
  row.since = performance.now();
  row.singles = 0;
  row.told.clear();
  row.counted.clear();
}

/** Names of operations are those of the graph, so there are few. */
function count(row: Row, attempt: Attempt, number: number): void {
  const key = `${attempt.operation} ${attempt.code}`;
  const known = row.counted.get(key);
  if (known === undefined) {
    row.counted.set(key, { attempt, count: number });
    return;
  }
  known.count += number;
  const [one, other] = [known.attempt.target, attempt.target];
  // What they were about is told where all of them were about one thing.
  if (one?.kind !== other?.kind || one?.id !== other?.id) {
    known.attempt = { ...known.attempt, target: null, projectId: null, brokerId: null };
  }
}
