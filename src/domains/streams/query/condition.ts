import type { Condition, Operator } from '../model/stream-query.ts';

/** Tests an existing value. */
type Test = (value: unknown) => boolean;

/**
 * Compiles a condition. Values of different types are neither equal nor ordered; strings are ordered by UTF-8 bytes.
 */
export function compileTest({ operator, right }: Condition): Test {
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
  const compare = ABOVE_SURROGATES.test(right) ? compareBytes : compareUnits;
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

const compareUnits = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
