import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/database.ts';

const SCRIPT = fileURLToPath(new URL('../../scripts/commit.mjs', import.meta.url));
const PRINT = `import('./scripts/commit.mjs').then(({ commitOf }) => console.log(commitOf()))`;

test('a build names its commit and whether files differ from it; without a repository it names BUILD_COMMIT or none', () => {
  const repository = temporaryFolder();
  const identity = {
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@b',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@b',
  };
  const run = (cwd: string, program: string, args: readonly string[], env: Record<string, string> = {}) =>
    execFileSync(program, args, { cwd, env: { PATH: process.env.PATH, ...identity, ...env }, encoding: 'utf8' }).trim();
  const git = (...args: string[]) => run(repository, 'git', args);
  const commitIn = (folder: string, BUILD_COMMIT = '') =>
    run(folder, process.execPath, ['-e', PRINT], { BUILD_COMMIT });
  const inside = join(repository, 'inside');
  for (const folder of [repository, inside]) {
    mkdirSync(join(folder, 'scripts'), { recursive: true });
    cpSync(SCRIPT, join(folder, 'scripts/commit.mjs'));
  }
  git('init', '--quiet');
  expect(commitIn(repository)).toBe('null');
  git('add', '.');
  git('commit', '--quiet', '--message', 'first');
  const commit = git('rev-parse', '--short', 'HEAD');
  expect(commitIn(repository, 'other')).toBe(commit);
  writeFileSync(join(repository, 'new.ts'), '');
  expect(commitIn(repository)).toBe(`${commit}-dirty`);
  // The commit of the repository around it is that of something else.
  expect(commitIn(inside)).toBe('null');
  expect(commitIn(inside, 'abc1234')).toBe('abc1234');
});
