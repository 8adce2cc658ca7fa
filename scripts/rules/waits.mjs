/**
 * Tests have no ceiling on wall time below 30 s, because a loaded machine exceeds it: no short timeout of a wait, test
 * or rejection, and no upper bound of a difference of clock readings. A test of a deadline uses processor time
 * (test/support/busy-time.ts), fake timers, a lower bound, or an order of events.
 */
import { lineOf, sources, walk } from './sources.mjs';

const MIN_MS = 30_000;
const CLOCK = /\b(?:performance|Date)\.now\(\)/;
/** The comment of the file says why. */
const ALLOWED = ['test/domains/clients/truth/slow-reader.ts'];

export const waitFaults = () =>
  sources
    .filter(({ path }) => path.startsWith('test/') && !ALLOWED.includes(path))
    .flatMap(({ path, text, program }) =>
      ceilings(text, program).map((start) => `${path}:${lineOf(text, start)}: a ceiling on wall time below 30 s`),
    );

/** Offsets of the ceilings of a file. */
function ceilings(text, program) {
  const textOf = ({ start, end }) => text.slice(start, end);
  const numbers = new Map();
  const readings = new Set();
  walk(program, ({ type, id, init }) => {
    if (type !== 'VariableDeclarator' || id.type !== 'Identifier' || init === null) return;
    if (typeof init.value === 'number') numbers.set(id.name, init.value);
    if (CLOCK.test(textOf(init)) && init.type !== 'ArrowFunctionExpression') readings.add(id.name);
  });
  const isShort = (node) => (node?.value ?? numbers.get(node?.name) ?? MIN_MS) < MIN_MS;
  const isDuration = (node) =>
    node?.type === 'BinaryExpression' &&
    node.operator === '-' &&
    (CLOCK.test(textOf(node)) || readings.has(node.left.name) || readings.has(node.right.name));
  const isCeiling = {
    Property: ({ key, value }) => key.name === 'timeout' && isShort(value),
    BinaryExpression: ({ operator, left, right }) => /^<=?$/.test(operator) && isDuration(left) && isShort(right),
    CallExpression({ callee, arguments: [first, second, third] }) {
      const name = textOf(callee);
      if (/\.toBeLessThan(?:OrEqual)?$/.test(name))
        return callee.object.arguments?.some((each) => isDuration(each)) && isShort(first);
      if (name === 'AbortSignal.timeout') return isShort(first);
      if (name === 'setTimeout') return /\breject\b/.test(textOf(first)) && isShort(second);
      return /^(?:test|describe|beforeAll|beforeEach)\b/.test(name) && isShort(third);
    },
  };
  const found = [];
  walk(program, (node) => {
    if (isCeiling[node.type]?.(node)) found.push(node.start);
  });
  return found;
}
