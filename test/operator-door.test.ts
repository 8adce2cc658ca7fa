import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createToken } from '../src/cli/tokens.ts';
import { readConfig } from '../src/config.ts';
import { openOperatorDoor } from '../src/operator-door.ts';
import { temporaryFolder } from './support/database.ts';

test('the door is for its owner alone, whoever may look into the folder', async () => {
  const folder = join(temporaryFolder(), 'data');
  mkdirSync(folder);
  chmodSync(folder, 0o777);
  const before = process.umask(0);
  onTestFinished(() => void process.umask(before));
  const door = await openOperatorDoor(folder, async () => ({ data: {} }));
  onTestFinished(() => door.close());
  expect(statSync(join(folder, 'operator.sock')).mode & 0o777).toBe(0o600);
});

test('a life of a token that no date can hold is refused by its option', async () => {
  const nothing = () => undefined;
  const terminal = {
    readInput: async () => '',
    env: {},
    out: nothing,
    err: nothing,
    isTerminal: false,
    stop: new AbortController().signal,
  };
  for (const days of ['1e12', 'Infinity', '0', 'x']) {
    await expect(
      createToken(readConfig({}), { ...terminal, onBug: nothing }, { project: 'p', name: 'n', role: 'viewer', days }),
    ).rejects.toThrow('--days');
  }
});
