/**
 * docs/waiting.md lists each constant that is a wait, with its value. What a wait is, the names of the constants say:
 * those of backoffs, deadlines, leases and intervals. A row has the values in the order of its constants.
 */
import { documents, lineOf, sources } from './sources.mjs';

const DOCUMENT = 'docs/waiting.md';
const WAIT =
  /(?:^|_)(?:ALIVE|BACKOFF|BEAT|CHECK|CLAIM|CLOSE|DRAIN|END|GRACE|PING|POLL|RECONNECT|RETRY|START|STOP|SWEEP|TIMEOUT)(?:_|$)/;
const UNITS = { ms: 1, s: 1_000, h: 3_600_000 };

export function waitingFaults() {
  const { text } = documents.find(({ path }) => path === DOCUMENT);
  const listed = new Set();
  const wrong = [...text.matchAll(/^\| ([^|]+) \| ([^|]+) \| (`[^|]+) \| [^|]+ \|$/gm)].flatMap(
    ({ 1: row, 2: times, 3: cell, index }) => {
      const names = [...cell.matchAll(/((?:`\w+`(?:, )?)+) in `([^`]+)`/g)].flatMap(([, constants, file]) =>
        [...constants.matchAll(/`(\w+)`/g)].map(([, name]) => `src/${file} ${name}`),
      );
      for (const name of names) listed.add(name);
      const actual = names.flatMap((name) => waits.get(name) ?? [Number.NaN]).join();
      return actual === times.split(', ').map(millisecondsOf).join()
        ? []
        : [`${DOCUMENT}:${lineOf(text, index)}: "${row}" has the milliseconds ${actual}`];
    },
  );
  const missing = [...waits.keys()].filter((name) => WAIT.test(name.split(' ')[1]) && !listed.has(name));
  return [...wrong, ...missing.map((name) => `${name.replace(' ', ': ')} is a wait: list it in ${DOCUMENT}`)];
}

const millisecondsOf = (text) => {
  const [, digits, unit] = /^([\d.]+) (\w+)$/.exec(text) ?? [];
  return Number(digits) * UNITS[unit];
};

/** The milliseconds of the constants of each file, by its path and the name of the constant. */
const waits = new Map(
  sources
    .filter(({ path }) => path.startsWith('src/'))
    .flatMap(({ path, program }) => {
      const constants = program.body
        .map((node) => node.declaration ?? node)
        .flatMap(({ type, declarations }) => (type === 'VariableDeclaration' ? declarations : []))
        .filter(({ id, init }) => /_MS$|BACKOFF$/.test(id.name ?? '') && init !== null);
      const values = new Map(constants.map(({ id, init }) => [id.name, init]));
      return constants.map(({ id, init }) => [`${path} ${id.name}`, timesOf(init, values)]);
    }),
);

/** A number, a product of numbers and constants, or the fields in milliseconds of an object. */
function timesOf(node, values) {
  if (node === undefined) return [Number.NaN];
  if (typeof node.value === 'number') return [node.value];
  if (node.type === 'Identifier') return timesOf(values.get(node.name), values);
  if (node.type === 'BinaryExpression' && node.operator === '*')
    return [timesOf(node.left, values)[0] * timesOf(node.right, values)[0]];
  if (node.type === 'ObjectExpression')
    return node.properties.flatMap(({ key, value }) =>
      value.type === 'ObjectExpression' || /Ms$/.test(key.name) ? timesOf(value, values) : [],
    );
  return node.expression === undefined ? [Number.NaN] : timesOf(node.expression, values);
}
