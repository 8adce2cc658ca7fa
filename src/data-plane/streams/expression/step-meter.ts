import type { ASTNode } from '@marcbachmann/cel-js';
import { isNode } from './cel.ts';

/** Steps of one evaluation: about 10 ms of processor time. */
export const MAX_STEPS = 50_000;
/** A text costs a step for this many characters, and a list one for each entry. */
const CHARACTERS = 64;
/** Functions of a time read a calendar, also that of a time zone. */
const CALENDAR_STEPS = 500;
const CALENDAR = /^get[A-Z]/;

export class TooManySteps extends Error {}

/** Counts the steps of evaluations, which the library does not bound: lists are walked within lists. */
export class StepMeter {
  #left = 0;

  /** `ast` is counted from its first evaluation on. */
  constructor(ast: ASTNode) {
    for (const node of nodesOf(ast)) this.#count(node);
  }

  start(): void {
    this.#left = MAX_STEPS;
  }

  /** Errors: TooManySteps. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new TooManySteps(`needs more than ${MAX_STEPS} steps`);
  }

  /** The cost of a value that was made or read. */
  spendOn(value: unknown): void {
    if (typeof value === 'string') this.spend(1 + value.length / CHARACTERS);
    else this.spend(Array.isArray(value) ? 1 + value.length : 1);
  }

  /** The library calls `evaluate` of each node, and replaces it when the node is evaluated for the first time. */
  #count(node: ASTNode): void {
    const counted = node as unknown as { evaluate: EvaluateNode };
    let { evaluate } = counted;
    const steps = node.op === 'rcall' && CALENDAR.test(String(node.args[0])) ? CALENDAR_STEPS : 0;
    const count: EvaluateNode = (evaluator, ast, context) => {
      this.spend(steps);
      const value = evaluate.call(node, evaluator, ast, context);
      this.spendOn(value);
      return value;
    };
    Object.defineProperty(counted, 'evaluate', {
      get: () => count,
      set: (next: EvaluateNode) => {
        evaluate = next;
      },
    });
  }
}

type EvaluateNode = (this: unknown, evaluator: unknown, ast: unknown, context: unknown) => unknown;

function nodesOf(part: unknown): ASTNode[] {
  if (Array.isArray(part)) return part.flatMap(nodesOf);
  return isNode(part) ? [part, ...nodesOf(part.args)] : [];
}
