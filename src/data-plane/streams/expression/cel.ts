import { createRequire } from 'node:module';
import type { ASTNode, Environment, ParseResult } from '@marcbachmann/cel-js';
import { lazily } from '../../../platform/lazily.ts';
import { compareNumbers, ExactNumber, isComparable, type JsonNumber } from '../../../platform/text/exact-number.ts';

/** What an expression may use of a message. */
export type ExpressionInput = {
  readonly payload: unknown;
  readonly text: string;
  readonly topic: string;
  readonly levels: readonly string[];
  readonly qos: bigint;
  readonly time: Date;
};

type Evaluate = (input: ExpressionInput) => unknown;

const EXPRESSION_LIMITS = { characters: 4_000, nodes: 300, depth: 50, elements: 100, arguments: 10 } as const;

/** Functions whose time depends on more than the lengths of their arguments, or that read another language. */
const REFUSED: ReadonlySet<string> = new Set(['matches', 'json']);

const MIXED = {
  '+': (left: number, right: number) => left + right,
  '-': (left: number, right: number) => left - right,
  '*': (left: number, right: number) => left * right,
  '/': (left: number, right: number) => left / right,
  '%': (left: number, right: number) => left % right,
} as const;

const require = createRequire(import.meta.url);

/**
 * The Common Expression Language with the variables of ExpressionInput. Numbers of JSON are of type `double`, so that
 * arithmetic with a whole number would need a decimal point in it: operators of `int` and `double` are added, and `%`
 * of `double`. Loaded with the first expression: that takes 20 ms of processor time, and most services have none.
 */
const language = lazily(() => {
  const library: typeof import('@marcbachmann/cel-js') = require('@marcbachmann/cel-js');
  const environment = new library.Environment({
    homogeneousAggregateLiterals: false,
    limits: {
      maxAstNodes: EXPRESSION_LIMITS.nodes,
      maxDepth: EXPRESSION_LIMITS.depth,
      maxListElements: EXPRESSION_LIMITS.elements,
      maxMapEntries: EXPRESSION_LIMITS.elements,
      maxCallArguments: EXPRESSION_LIMITS.arguments,
    },
  })
    .registerVariable('payload', 'dyn')
    .registerVariable('text', 'string')
    .registerVariable('topic', 'string')
    .registerVariable('levels', 'list<string>')
    .registerVariable('qos', 'int')
    .registerVariable('time', 'google.protobuf.Timestamp');
  for (const [operator, compute] of Object.entries(MIXED)) {
    const handler = (left: number | bigint, right: number | bigint) => compute(Number(left), Number(right));
    environment.registerOperator(`int ${operator} double: double`, handler);
    environment.registerOperator(`double ${operator} int: double`, handler);
  }
  environment.registerOperator('double % double: double', MIXED['%']);
  registerExact(environment);
  readTypesOnce(environment);
  return { environment, EvaluationError: library.EvaluationError };
});

/**
 * Operators and calls look up the types of what they get. The library reads the first entries of all levels for it,
 * lists all keys on the way, and stores each type that it has met, such as that of a list in a list in a list.
 */
function readTypesOnce(environment: Environment): void {
  const parsed = environment.parse('null');
  Object.defineProperty(parsed.ast, 'evaluate', {
    value(evaluator: { debugType(value: unknown): unknown; debugTypeDeep(value: unknown): unknown }) {
      evaluator.debugTypeDeep = evaluator.debugType;
    },
  });
  parsed({});
}

/** Numbers that `double` would round: compared with all their digits, and rounded by arithmetic. */
function registerExact(environment: Environment): void {
  environment.registerType('exact', ExactNumber);
  const pairs = ['int', 'uint', 'double'].flatMap((type) => [['exact', type] as const, [type, 'exact'] as const]);
  for (const [left, right] of [['exact', 'exact'] as const, ...pairs]) {
    for (const [operator, compute] of Object.entries(MIXED))
      environment.registerOperator(`${left} ${operator} ${right}: double`, (one: unknown, other: unknown) =>
        compute(Number(one), Number(other)),
      );
    for (const [operator, holds] of Object.entries(COMPARED))
      environment.registerOperator(`${left} ${operator} ${right}`, (one: unknown, other: unknown) =>
        holds(compareValues(one, other)),
      );
    if (left === 'exact')
      environment.registerOperator(
        `${left} == ${right}`,
        (one: unknown, other: unknown) => compareValues(one, other) === 0,
      );
  }
  environment.registerOperator('-exact: double', (value: unknown) => -Number(value));
  environment.registerFunction('double(exact): double', Number);
  environment.registerFunction('string(exact): string', String);
}

/** Comparisons of exact numbers take time for their characters, which the steps do not count. */
const MAX_EXACT_CHARACTERS = 100;

/** As `compareNumbers`. Errors: RangeError with a message that continues the name of the expression. */
const compareValues = (one: unknown, other: unknown): number => compareNumbers(comparable(one), comparable(other));

function comparable(value: unknown): JsonNumber {
  if (typeof value === 'number') return value;
  const text = String(value);
  const number = new ExactNumber(text);
  if (text.length <= MAX_EXACT_CHARACTERS && isComparable(number)) return number;
  throw new RangeError(
    `compares a number with more than ${MAX_EXACT_CHARACTERS} characters, or with an exponent of more than 15 digits`,
  );
}

const COMPARED = {
  '<': (order: number) => order < 0,
  '<=': (order: number) => order <= 0,
  '>': (order: number) => order > 0,
  '>=': (order: number) => order >= 0,
} as const;

interface Expression {
  /** The type of the result; `dyn` if it depends on the message. */
  readonly type: string;
  readonly ast: ASTNode;
  readonly evaluate: Evaluate;
}

/** Errors: SyntaxError with a message that continues the name of the expression. */
export function parseExpression(source: string): Expression {
  if (source.length > EXPRESSION_LIMITS.characters) {
    throw new SyntaxError(`must have at most ${EXPRESSION_LIMITS.characters} characters`);
  }
  const parsed = parsedOf(source);
  const { valid, type, error } = parsed.check();
  if (!valid) throw new SyntaxError(problemOf(error));
  refuseCalls(parsed.ast);
  return { type: type ?? 'dyn', ast: parsed.ast, evaluate: parsed };
}

function parsedOf(source: string): ParseResult {
  try {
    return language().environment.parse(source);
  } catch (error) {
    throw new SyntaxError(problemOf(error));
  }
}

function refuseCalls(node: unknown): void {
  if (Array.isArray(node)) {
    for (const each of node) refuseCalls(each);
    return;
  }
  if (!isNode(node)) return;
  const name = node.op === 'rcall' || node.op === 'call' ? String(node.args[0]) : '';
  if (REFUSED.has(name)) throw new SyntaxError(`must not call "${name}", whose time has no bound`);
  refuseCalls(node.args);
}

export const isNode = (value: unknown): value is ASTNode =>
  typeof value === 'object' && value !== null && 'op' in value && 'args' in value;

/** The code of an error of an evaluation; empty for other errors. */
export const codeOf = (error: unknown): string => (error instanceof language().EvaluationError ? error.code : '');

/** The first line of an error of the library, and its place. */
export function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return 'is no expression';
  const [problem = ''] = error.message.split('\n', 1);
  return problem + placeOf(error);
}

export function placeOf(error: unknown): string {
  const { range } = error as { readonly range?: { readonly start: number } };
  return range === undefined ? '' : ` (at character ${range.start + 1})`;
}
