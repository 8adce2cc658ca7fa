import type { ASTNode } from '@marcbachmann/cel-js';
import { ExactNumber } from '../../../platform/text/exact-number.ts';
import { isNode } from './cel.ts';
import { boundedCall } from './text-functions.ts';

/** Steps of one evaluation: about 10 ms of processor time. */
export const MAX_STEPS = 50_000;
/** A text costs a step for this many characters, and a list one for each entry. */
const CHARACTERS = 64;
/** Functions of a time read a calendar, also that of a time zone. */
const CALENDAR_STEPS = 500;
const CALENDAR = /^get[A-Z]/;
const ERROR_STEPS = 100;

export class TooManySteps extends Error {}

/** Counts the steps of evaluations, which the library does not bound: lists are walked within lists. */
export class StepMeter {
  #left = 0;

  /** `ast` is counted from its first evaluation on. */
  constructor(ast: ASTNode) {
    const nodes = nodesOf(ast);
    // Calls read all entries of what they are called with.
    const read = new Set(nodes.filter(isCall).flatMap(({ args }) => [args].flat(2)));
    for (const node of nodes) {
      this.#count(node, read.has(node));
      if (isCall(node)) boundCall(node);
      else if (COMPARISONS.has(node.op)) this.#countComparison(node);
    }
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
    // Operators read the digits again.
    else if (value instanceof ExactNumber) this.spend(1 + String(value).length / CHARACTERS);
    else this.spend(Array.isArray(value) ? 1 + value.length : 1);
  }

  #spendOnKeys(value: unknown): void {
    if (isObject(value) && !Array.isArray(value)) this.spend(Object.keys(value).length);
  }

  #countComparison(node: ASTNode): void {
    const handled = node as Handled;
    const { handle } = handled;
    if (handle === undefined) return;
    handled.handle = (left, right, ...rest) => {
      if (isObject(left) && isObject(right)) {
        const times = node.op === 'in' && Array.isArray(right) ? right.length : 1;
        const size = this.#spendOnAll(left);
        this.spend(size * (times - 1));
        this.#spendOnAll(right);
      }
      return handle(left, right, ...rest);
    };
  }

  /** Spends a step for each entry of each level. */
  #spendOnAll(root: object): number {
    const left = this.#left;
    const open: object[] = [root];
    for (let value = open.pop(); value !== undefined; value = open.pop()) {
      if (ArrayBuffer.isView(value)) this.spend(value.byteLength / CHARACTERS);
      else {
        const entries = Object.values(value);
        this.spend(1 + entries.length);
        for (const entry of entries) if (isObject(entry)) open.push(entry);
      }
    }
    return left - this.#left;
  }

  /** The library calls `evaluate` of each node, and replaces it when the node is evaluated for the first time. */
  #count(node: ASTNode, isRead: boolean): void {
    const counted = node as unknown as { evaluate: EvaluateNode };
    let { evaluate } = counted;
    const steps = node.op === 'rcall' && CALENDAR.test(String(node.args[0])) ? CALENDAR_STEPS : 0;
    const count: EvaluateNode = (evaluator, ast, context) => {
      this.spend(steps);
      try {
        const value = evaluate.call(node, evaluator, ast, context);
        this.spendOn(value);
        if (isRead) this.#spendOnKeys(value);
        return value;
      } catch (error) {
        // Lists go on after an error. Making one takes as long as many steps.
        if (!(error instanceof TooManySteps)) this.spend(ERROR_STEPS);
        throw error;
      }
    };
    Object.defineProperty(counted, 'evaluate', {
      get: () => count,
      set: (next: EvaluateNode) => {
        evaluate = next;
      },
    });
  }
}

/** Operators that compare whole values. */
const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', 'in']);
const CALLS: ReadonlySet<string> = new Set(['call', 'rcall']);
const isCall = ({ op }: ASTNode): boolean => CALLS.has(op);

/** The library calls `handle` of a call with the values of its arguments, and that of an operator with both sides. */
interface Handled {
  handle?: (...args: readonly unknown[]) => unknown;
}

function boundCall(node: ASTNode): void {
  const handled = node as Handled;
  const { handle } = handled;
  const name = String([node.args].flat()[0]);
  if (handle === undefined) return;
  handled.handle = (values, ...rest) => boundedCall(name, values as readonly unknown[]) ?? handle(values, ...rest);
}

type EvaluateNode = (this: unknown, evaluator: unknown, ast: unknown, context: unknown) => unknown;

function nodesOf(part: unknown): ASTNode[] {
  if (Array.isArray(part)) return part.flatMap(nodesOf);
  return isNode(part) ? [part, ...nodesOf(part.args)] : [];
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
