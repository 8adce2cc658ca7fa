/** The summary of a test run: its costs, its failures, and the line `N passed, N failed`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from './stamps.mjs';

/** Maximum number of failures in the summary, so that a log's last lines contain all of it. */
const MAX_SHOWN = 20;
const MAX_COSTLY = 10;
/** Processor seconds of a file without an entry in scripts/test-budgets.json. */
const DEFAULT_BUDGET = 8;
/** Files that take more processor seconds have an entry. `npm test` omits them. */
const MAX_SHORT = 2.5;
/** Budgets are so many times what was measured. */
const MARGIN = 1.33;
/** A file fails only far above its budget, because its processor time differs between runs. */
const TOLERANCE = 1.5;

const pathOf = (file) => (file.startsWith(root) ? relative(root, file) : file);

/** `results`: `{ name, files }` of each run, `files` as test-reporter.mjs writes them. Returns whether all passed. */
export function showResults(results, { hasBudgets }) {
  const files = results.flatMap(({ name, files }) =>
    Object.entries(files).map(([file, result]) => ({ run: name, file: pathOf(file), ...result })),
  );
  const failures = files.flatMap(({ run, file, failures }) => failures.map((failure) => ({ run, file, ...failure })));
  if (hasBudgets) failures.push(...overBudget(files.filter(({ file }) => file.startsWith('test/'))));
  const sum = (key) => files.reduce((total, file) => total + file[key], 0);

  console.log(`\n${Math.round(sum('cpu'))} s of processor time; the most costly files:`);
  for (const { run, file, cpu } of files.toSorted((a, b) => b.cpu - a.cpu).slice(0, MAX_COSTLY))
    console.log(`${cpu.toFixed(1).padStart(8)} s  ${file} (${run})`);
  for (const { run, file, name, error } of failures.slice(0, MAX_SHOWN)) {
    console.log(`failed: ${file} > ${name} (${run})`);
    for (const line of error) console.log(`    ${line}`);
  }
  if (failures.length > MAX_SHOWN) console.log(`failed: ${failures.length - MAX_SHOWN} more`);
  if (sum('skipped') > 0) console.log(`(${sum('skipped')} skipped)`);
  for (const { name, seconds } of results) if (seconds !== undefined) console.log(`${name}: ${seconds} s`);
  console.log(`${sum('passed')} passed, ${failures.length} failed`);
  return failures.length === 0;
}

const BUDGETS = join(root, 'scripts/test-budgets.json');
const budgets = JSON.parse(readFileSync(BUDGETS, 'utf8'));

/** `--budgets`: writes the processor time of the first run of each costly file, and a third more, as its budget. */
export function writeBudgets([{ files }]) {
  const measured = Object.entries(files)
    .filter(([, { cpu }]) => cpu > MAX_SHORT)
    .map(([file, { cpu }]) => [pathOf(file), Math.max(DEFAULT_BUDGET, Math.ceil(cpu * MARGIN))])
    .sort(([one], [other]) => (one < other ? -1 : 1));
  writeFileSync(BUDGETS, `${JSON.stringify(Object.fromEntries(measured), null, 2)}\n`);
}

/**
 * A slow or busy machine slows all files, those that start processes most: twice as much as others were measured. So
 * the budgets grow with what the most slowed twentieth of the costly files used of theirs.
 */
function overBudget(files) {
  // The others have the default at least, which is more than a third above what was measured.
  const costly = files.filter(({ file }) => budgets[file] > DEFAULT_BUDGET);
  const used = costly.map(({ file, cpu }) => (MARGIN * cpu) / budgets[file]).sort((a, b) => a - b);
  const slowness = Math.max(1, used[Math.floor(used.length * 0.95)] ?? 1);
  return files.flatMap(({ run, file, cpu }) => {
    const budget = (budgets[file] ?? DEFAULT_BUDGET) * slowness;
    if (cpu <= budget * TOLERANCE) return [];
    return [
      { run, file, name: 'processor time', error: [`${cpu.toFixed(1)} s, with a budget of ${budget.toFixed(1)} s`] },
    ];
  });
}
