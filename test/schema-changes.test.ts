import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolder } from './support/database.ts';

const SCRIPT = fileURLToPath(new URL('../scripts/schema-changes.mjs', import.meta.url));
const NAMED = {
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@b.c',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@b.c',
};

test('changes since the last tag or another reference are listed, and only breaking ones fail', () => {
  const cwd = temporaryFolder();
  const git = (...args: string[]) => execFileSync('git', args, { cwd, env: { ...process.env, ...NAMED } });
  const write = (fields: string) => writeFileSync(join(cwd, 'schema.graphql'), `type Query { ${fields} }`);
  const commit = () => {
    git('add', '.');
    git('commit', '-qm', 'Change the schema');
  };
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], { cwd, encoding: 'utf8' });
    return { status, output: stdout.split('\n').filter(Boolean), stderr };
  };
  git('init', '-q');
  write('a: Int b: Int');
  commit();
  expect(run()).toMatchObject({ status: 2, output: [], stderr: expect.stringContaining('There is no tag') });
  git('tag', 'v1');
  write('a(c: Int): Int b: Int');
  commit();
  expect(run()).toMatchObject({
    status: 0,
    output: [
      ...['0 breaking changes since v1', '1 dangerous changes since v1'],
      '  An optional arg c on Query.a was added.',
    ],
  });
  write('a(c: Int): Int');
  expect(run('HEAD')).toMatchObject({
    status: 1,
    output: ['1 breaking changes since HEAD', '  Query.b was removed.', '0 dangerous changes since HEAD'],
  });
  expect(run('nothing')).toMatchObject({ status: 2, output: [], stderr: expect.stringContaining('nothing') });
});
