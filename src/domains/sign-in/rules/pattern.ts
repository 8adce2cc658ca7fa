import { type CharTest, PatternError, type PatternNode, parsePattern } from './pattern-parser.ts';

const MAX_PATTERN = 200;
/** Longer values fit no pattern. */
export const MAX_VALUE = 1_024;
/** Of the automaton; each costs a step for each character, at most, and one for each way to it. */
const MAX_STATES = 500;
const MAX_BUILT = 5_000;
/** As a part of a pattern costs, in steps of matching. */
const STEPS_TO_BUILD = 20;

/** A character to be read, or several ways on without reading; null: the end. */
type State = { readonly fits: CharTest; readonly next: number } | { ways: readonly number[] } | null;

/** Steps that may still be made, of about ten nanoseconds; what is not decided with them does not fit. */
export interface Budget {
  left: number;
}

/**
 * A regular expression for whole values, matched in time that grows with the value's length and no faster: all ways are followed at
 * once. People who administer a project write these, and they are matched whenever somebody signs in.
 */
export class Pattern {
  readonly #states: State[] = [null];
  readonly #start: number;
  /** States by the number of the look at which they were seen last. */
  readonly #lookedAt = new Float64Array(MAX_STATES);
  #look = 0;
  #firsts: readonly number[] | null = null;
  #built = 0;

  /** Errors: PatternError. */
  constructor(text: string) {
    if (text.length === 0 || text.length > MAX_PATTERN)
      throw new PatternError(`must have 1 to ${MAX_PATTERN} characters`);
    this.#start = this.#build(parsePattern(text), 0);
  }

  /** How much work it was to make. */
  get steps(): number {
    return this.#built * STEPS_TO_BUILD;
  }

  fits(value: string, budget: Budget = { left: Number.POSITIVE_INFINITY }): boolean {
    if (value.length > MAX_VALUE) return false;
    budget.left -= 1;
    this.#firsts ??= this.#reached([this.#start], budget);
    let current = this.#firsts;
    for (const char of value) {
      const code = char.codePointAt(0) ?? 0;
      budget.left -= current.length;
      if (budget.left < 0) return false;
      const next: number[] = [];
      for (const id of current) {
        const state = this.#states[id];
        if (state && 'fits' in state && state.fits(code)) next.push(state.next);
      }
      if (next.length === 0) return false;
      current = this.#reached(next, budget);
    }
    return current.includes(0);
  }

  /** The states that read on, and the end, that can be had without reading. */
  #reached(from: readonly number[], budget: Budget): readonly number[] {
    const reached: number[] = [];
    const waiting = [...from];
    this.#look += 1;
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      budget.left -= 1;
      if (this.#lookedAt[id] === this.#look) continue;
      this.#lookedAt[id] = this.#look;
      const state = this.#states[id];
      if (state && 'ways' in state) for (const way of state.ways) waiting.push(way);
      else reached.push(id);
    }
    return reached;
  }

  /** The state from which the node is read and then `next`. */
  #build(node: PatternNode, next: number): number {
    // Also what adds no state may be repeated a hundred times a hundred times.
    this.#built += 1;
    if (this.#built > MAX_BUILT) throw new PatternError('has too many repetitions');
    switch (node.kind) {
      case 'char':
        return this.#add({ fits: node.fits, next });
      case 'sequence':
        return node.parts.reduceRight((after, part) => this.#build(part, after), next);
      case 'choice':
        return this.#add({ ways: node.parts.map((part) => this.#build(part, next)) });
      case 'repeat':
        return this.#repeat(node, next);
    }
  }

  #repeat({ part, min, max }: Extract<PatternNode, { kind: 'repeat' }>, next: number): number {
    let after = next;
    if (max === Number.POSITIVE_INFINITY) {
      const loop = { ways: [next] };
      after = this.#add(loop);
      loop.ways = [this.#build(part, after), next];
    } else {
      for (let left = max - min; left > 0; left -= 1) after = this.#add({ ways: [this.#build(part, after), next] });
    }
    for (let left = min; left > 0; left -= 1) after = this.#build(part, after);
    return after;
  }

  #add(state: State): number {
    if (this.#states.length >= MAX_STATES) throw new PatternError('has too many repetitions');
    return this.#states.push(state) - 1;
  }
}
