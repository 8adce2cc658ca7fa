/**
 * Lists what changed for clients between schema.graphql of a git reference (default: the last tag) and the one of the
 * current folder: breaking changes, which fail valid documents, and dangerous ones, which may change their results.
 * Exits with 1 if there are breaking changes.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { buildSchema, findBreakingChanges, findDangerousChanges } from 'graphql';

const MAX_BYTES = 64 * 1024 * 1024;

const git = (...args) =>
  execFileSync('git', args, { encoding: 'utf8', maxBuffer: MAX_BYTES, stdio: ['ignore', 'pipe', 'pipe'] });

function lastTag() {
  try {
    return git('describe', '--tags', '--abbrev=0').trim();
  } catch {
    console.error('There is no tag: name a git reference, as in `npm run schema:changes -- HEAD~1`');
    process.exit(2);
  }
}

function schemaAt(reference) {
  try {
    return git('show', `${reference}:./schema.graphql`);
  } catch (error) {
    console.error(`${reference}: ${String(error.stderr).trim()}`);
    process.exit(2);
  }
}

const reference = process.argv[2] ?? lastTag();
const before = buildSchema(schemaAt(reference));
const now = buildSchema(readFileSync('schema.graphql', 'utf8'));
const breaking = findBreakingChanges(before, now);
const found = { breaking, dangerous: findDangerousChanges(before, now) };
for (const [kind, changes] of Object.entries(found)) {
  console.log(`${changes.length} ${kind} changes since ${reference}`);
  for (const { description } of changes) console.log(`  ${description}`);
}
process.exitCode = breaking.length === 0 ? 0 : 1;
