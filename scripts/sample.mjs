/**
 * `node scripts/sample.mjs [seed]`: prints a random sample of 60 comments, 40 schema descriptions and 20 error messages
 * for a reader who does not know the code. The same seed and sources give the same sample.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lineOf, sources, walk } from './rules/sources.mjs';
import { root } from './stamps.mjs';

const seed = Number(process.argv[2] ?? 1);
const product = sources.filter(({ path }) => path.startsWith('src/'));

/** The generator mulberry32: numbers from 0 to 1. */
function randomOf(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const comments = product.flatMap(({ path, text, comments }) =>
  comments.map(({ start, end }) => {
    const rest = text.slice(end).trimStart().split('\n', 1)[0];
    return `${path}:${lineOf(text, start)}\n${text.slice(start, end)}\n    of: ${rest}`;
  }),
);

const schema = readFileSync(join(root, 'schema.graphql'), 'utf8');
const descriptions = [...schema.matchAll(/"""([\s\S]*?)"""\s*(.*)/g)].map(
  ([, text, of]) => `${of.trim()}\n${text.trim()}`,
);

const messages = product.flatMap(({ path, text, program }) => {
  const found = [];
  walk(program, (node) => {
    if (node.type === 'NewExpression' && node.callee.name === 'ServiceError' && node.arguments[1] !== undefined) {
      const { start, end } = node.arguments[1];
      found.push(`${path}:${lineOf(text, start)}\n${text.slice(start, end)}`);
    }
  });
  return found;
});

const random = randomOf(seed);
for (const [title, count, texts] of [
  ['comments', 60, comments],
  ['descriptions', 40, descriptions],
  ['error messages', 20, messages],
]) {
  console.log(`\n=== ${count} of ${texts.length} ${title}, seed ${seed}`);
  for (let drawn = 1; drawn <= count; drawn += 1) {
    const [text] = texts.splice(Math.floor(random() * texts.length), 1);
    console.log(`\n${drawn}. ${text}`);
  }
}
