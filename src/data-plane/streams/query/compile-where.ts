import { byCodeUnits } from '../../../platform/sorting/by-code-units.ts';
import { compareNumbers, ExactNumber, type JsonNumber } from '../../../platform/text/exact-number.ts';
import type { Condition, Operator } from '../model/stream-query.ts';
import { compilePlace, exactNumber, type Place, type QueryMessage } from './query-message.ts';
import { failed, filtered, type Processed } from './stream-processor.ts';

/** Compiles a condition on a path. The function returns `null` if it is met. A missing path never meets it. */
export function compileWhere(condition: Condition): (message: QueryMessage) => Processed | null {
  const { left } = condition;
  const place = compilePlace(left);
  const missing = filtered(`${left} is missing`);
  const judge = compileWhereOf(condition);
  return (message) => {
    const value = place.read(message.root);
    return value === undefined ? missing : judge(value, place, message);
  };
}

/** `place`: where JSON.parse has read the value. `null` if it is exact. */
type JudgeValue = (value: unknown, place: Place | null, message: QueryMessage) => Processed | null;

/** Compiles a condition on the value of an alias. The function returns `null` if it is met. */
export function compileWhereOf(condition: Condition): JudgeValue {
  const { left, operator, right } = condition;
  const test = compileTest(condition);
  const unmet = filtered(`not ${left} ${operator} ${typeof right === 'object' ? right.number : JSON.stringify(right)}`);
  return (value, place, message) => {
    try {
      return test(value, place, message) ? null : unmet;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return failed(`${left} ${error.message}`);
    }
  };
}

type Test = (value: unknown, place: Place | null, message: QueryMessage) => boolean;

/**
 * Compiles a condition. Values of different types are neither equal nor ordered; strings are ordered by UTF-8 bytes.
 */
function compileTest({ operator, right }: Condition): Test {
  if (typeof right === 'number') return numberTest(operator, right);
  if (typeof right === 'object') return numberTest(operator, new ExactNumber(right.number));
  if (operator === '==') return (value) => value === right;
  if (operator === '!=') return (value) => value !== right;
  if (typeof right === 'string') return textTest(operator, right);
  throw new TypeError(`"${operator}" needs a number or a text`);
}

/** Rounding keeps the order of numbers, so only two numbers that are rounded to the same one are compared exactly. */
function numberTest(operator: Operator, right: JsonNumber): Test {
  const meets = MEETS[operator];
  const limit = Number(right);
  return (value, place, message) => {
    if (typeof value === 'number') {
      if (value !== limit) return meets(value - limit);
      return meets(compareNumbers(exactNumber(value, place, message), right));
    }
    return value instanceof ExactNumber ? meets(compareNumbers(value, right)) : operator === '!=';
  };
}

const MEETS: Readonly<Record<Operator, (order: number) => boolean>> = {
  '==': (order) => order === 0,
  '!=': (order) => order !== 0,
  '>': (order) => order > 0,
  '<': (order) => order < 0,
  '>=': (order) => order >= 0,
  '<=': (order) => order <= 0,
};

function textTest(operator: Operator, right: string): Test {
  const meets = MEETS[operator];
  const compare = ABOVE_SURROGATES.test(right) ? compareBytes : byCodeUnits;
  return (value) => typeof value === 'string' && meets(compare(value, right));
}

/** UTF-16 and UTF-8 order differ only if one text has such characters and the other one surrogates. */
const ABOVE_SURROGATES = /[\uD800-\uFFFF]/;

const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
