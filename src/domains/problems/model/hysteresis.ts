import { type ProblemFact, severityOf } from './problem-fact.ts';
import { closesAfterMs, isDue, opensAfterMs, type ProblemSeverity } from './problem-kinds.ts';
import type { ProblemSubject } from './problem-source.ts';

export type Transition =
  | { readonly change: 'OPEN'; readonly key: string; readonly fact: ProblemFact }
  | { readonly change: 'REPEAT'; readonly key: string; readonly fact: ProblemFact; readonly times: number }
  | { readonly change: 'CLOSE'; readonly key: string };

interface OpenProblem extends ProblemSubject {
  readonly key: string;
  readonly severity: ProblemSeverity;
}

interface Seen extends ProblemSubject {
  severity: ProblemSeverity;
  firstAt: number;
  lastAt: number;
  isPresent: boolean;
  isOpen: boolean;
}

/**
 * Decides when problems of one scope open and close. A fact opens a problem when it was first seen a time ago and is
 * there: a fact that comes and goes within that time counts as one that lasts. A problem closes when its fact has been
 * gone for a time; until then each return of the fact counts. Both times depend on the kind. A fact with another
 * severity is a REPEAT, also of no times.
 *
 * It has no clock: `now` is in milliseconds and never decreases.
 */
export class Hysteresis {
  readonly #seen = new Map<string, Seen>();

  /** Takes over which problems are open, for example since before a restart, or because another process closed one. */
  adopt(open: readonly OpenProblem[], now: number): void {
    const keys = new Set(open.map(({ key }) => key));
    for (const [key, { isOpen }] of this.#seen) if (isOpen && !keys.has(key)) this.#seen.delete(key);
    for (const { key, kind, subjectId, severity } of open) {
      const unseen = { kind, subjectId, severity, firstAt: now, lastAt: now, isPresent: true, isOpen: true };
      this.#seen.set(key, Object.assign(this.#seen.get(key) ?? unseen, { severity, isOpen: true }));
    }
  }

  /** The problem could not be opened: its fact begins again. */
  forget(key: string): void {
    this.#seen.delete(key);
  }

  /** Problems for which `isUnknown` is true neither open nor close: their facts cannot be read now. */
  update(
    facts: ReadonlyMap<string, ProblemFact>,
    isUnknown: (subject: ProblemSubject) => boolean,
    now: number,
  ): Transition[] {
    const transitions: Transition[] = [];
    for (const [key, fact] of facts) {
      const transition = this.#present(key, fact, now);
      if (transition !== null) transitions.push(transition);
    }
    for (const [key, seen] of this.#seen) {
      if (facts.has(key)) continue;
      if (isUnknown(seen)) this.#hold(key, seen, now);
      else if (this.#isGone(seen, now)) {
        this.#seen.delete(key);
        if (seen.isOpen) transitions.push({ change: 'CLOSE', key });
      }
    }
    return transitions;
  }

  get size(): number {
    return this.#seen.size;
  }

  #present(key: string, fact: ProblemFact, now: number): Transition | null {
    const { kind, subjectId } = fact;
    const severity = severityOf(fact);
    const unseen = { kind, subjectId, severity, firstAt: now, lastAt: now, isPresent: true, isOpen: false };
    const seen = this.#seen.get(key) ?? unseen;
    this.#seen.set(key, seen);
    const times = fact.times ?? (seen.isPresent ? 0 : 1);
    const isSame = times === 0 && severity === seen.severity;
    seen.isPresent = true;
    seen.lastAt = now;
    seen.severity = severity;
    if (seen.isOpen) return isSame ? null : { change: 'REPEAT', key, fact, times };
    if (!isDue(opensAfterMs(kind), seen.firstAt, now)) return null;
    seen.isOpen = true;
    return { change: 'OPEN', key, fact };
  }

  /** An open problem remains as it is. A fact that was not there long enough is known no longer. */
  #hold(key: string, seen: Seen, now: number): void {
    if (seen.isOpen) seen.lastAt = now;
    else this.#seen.delete(key);
  }

  #isGone(seen: Seen, now: number): boolean {
    seen.isPresent = false;
    return isDue(closesAfterMs(seen.kind), seen.lastAt, now);
  }
}
