import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openOperatorSocket } from '../../../src/app/operator/operator-socket.ts';
import { temporaryFolder } from '../../support/database.ts';

test('only the owner may use the socket, even if others may read the folder', async () => {
  const folder = join(temporaryFolder(), 'data');
  mkdirSync(folder);
  chmodSync(folder, 0o777);
  const before = process.umask(0);
  onTestFinished(() => void process.umask(before));
  const door = await openOperatorSocket(folder, async () => ({ data: {} }));
  onTestFinished(() => door.close());
  expect(statSync(join(folder, 'operator.sock')).mode & 0o777).toBe(0o600);
});
