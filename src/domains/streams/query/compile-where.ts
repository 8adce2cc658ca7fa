import { byCodeUnits } from '../../../platform/sorting/by-code-units.ts';
import type { Condition, Operator } from '../model/stream-query.ts';
import { compilePath } from './json-path.ts';
import { filtered, type Processed } from './stream-processor.ts';

/** Compiles a condition on a path. The function returns `null` if it is met. A missing path never meets it. */
export function compileWhere(condition: Condition): (root: unknown) => Processed | null {
  const { left } = condition;
  const read = compilePath(left);
  const missing = filtered(`${left} is missing`);
  const judge = compileWhereOf(condition);
  return (root) => {
    const value = read(root);
    return value === undefined ? missing : judge(value);
  };
}

/** Compiles a condition on the value of an alias. The function returns `null` if it is met. */
export function compileWhereOf(condition: Condition): (value: unknown) => Processed | null {
  const { left, operator, right } = condition;
  const test = compileTest(condition);
  const unmet = filtered(`not ${left} ${operator} ${JSON.stringify(right)}`);
  return (value) => (test(value) ? null : unmet);
}

type Test = (value: unknown) => boolean;

/**
 * Compiles a condition. Values of different types are neither equal nor ordered; strings are ordered by UTF-8 bytes.
 */
function compileTest({ operator, right }: Condition): Test {
  if (operator === '==') return (value) => value === right;
  if (operator === '!=') return (value) => value !== right;
  if (typeof right === 'number') return numberTest(operator, right);
  if (typeof right === 'string') return textTest(operator, right);
  throw new TypeError(`"${operator}" needs a number or a text`);
}

type Order = Exclude<Operator, '==' | '!='>;

function numberTest(operator: Order, right: number): Test {
  switch (operator) {
    case '>':
      return (value) => typeof value === 'number' && value > right;
    case '<':
      return (value) => typeof value === 'number' && value < right;
    case '>=':
      return (value) => typeof value === 'number' && value >= right;
    case '<=':
      return (value) => typeof value === 'number' && value <= right;
  }
}

function textTest(operator: Order, right: string): Test {
  const compare = ABOVE_SURROGATES.test(right) ? compareBytes : byCodeUnits;
  switch (operator) {
    case '>':
      return (value) => typeof value === 'string' && compare(value, right) > 0;
    case '<':
      return (value) => typeof value === 'string' && compare(value, right) < 0;
    case '>=':
      return (value) => typeof value === 'string' && compare(value, right) >= 0;
    case '<=':
      return (value) => typeof value === 'string' && compare(value, right) <= 0;
  }
}

/** UTF-16 and UTF-8 order differ only if one text has such characters and the other one surrogates. */
const ABOVE_SURROGATES = /[\uD800-\uFFFF]/;

const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
