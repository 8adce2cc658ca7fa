/** The size of the sources, printed with each check. Biome bounds the lines of a function: 120. */
import { sources } from './sources.mjs';

const MAX_FILE = 400;
const MAX_P90_FILE = 200;
/** Of all lines of src, in percent. */
const MAX_WING = 45;
const MIN_TEST_RATIO = 0.8;

const linesOf = (text) => text.split('\n').length - 1;
const codeLinesOf = ({ text, comments }) => {
  let code = text;
  for (const { start, end } of comments.toReversed()) code = code.slice(0, start) + code.slice(end);
  return code.split('\n').filter((line) => line.trim() !== '').length;
};

export function size() {
  const product = sources.filter(({ path }) => path.startsWith('src/'));
  const tests = sources.filter(({ path }) => path.startsWith('test/'));
  const lines = product.map(({ text }) => linesOf(text)).sort((one, other) => one - other);
  const sum = (files, of) => files.reduce((total, file) => total + of(file), 0);
  const p90 = lines[Math.floor(lines.length * 0.9)];
  const ratio = sum(tests, ({ text }) => linesOf(text)) / sum(product, codeLinesOf);
  const faults = sources
    .filter(({ path, text }) => /^(?:src|console)\//.test(path) && linesOf(text) > MAX_FILE)
    .map(({ path, text }) => `${path} has ${linesOf(text)} lines, at most ${MAX_FILE} are allowed: it has two ideas`);
  if (p90 >= MAX_P90_FILE) faults.push(`90 % of the files of src must have fewer than ${MAX_P90_FILE} lines: ${p90}`);
  if (ratio < MIN_TEST_RATIO)
    faults.push(`lines of test must be at least ${MIN_TEST_RATIO} of the code of src: ${ratio}`);
  const total = lines.reduce((all, one) => all + one, 0);
  const wings = Object.groupBy(product, ({ path }) => path.split('/')[1]);
  for (const [wing, files] of Object.entries(wings)) {
    const share = (100 * sum(files, ({ text }) => linesOf(text))) / total;
    if (share > MAX_WING)
      faults.push(`src/${wing} has ${share.toFixed(1)} % of src, at most ${MAX_WING} % may be in one wing`);
  }
  const text =
    `src: ${total} lines in ${lines.length} files, 90 % below ${p90 + 1} lines; ` +
    `tests ${ratio.toFixed(2)} lines per line of code`;
  return { text, faults };
}
