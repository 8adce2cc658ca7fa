import { existsSync, mkdirSync, readdirSync, readlinkSync, renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { QueueStorage } from '../../../../src/data-plane/bridges/queue/queue-storage.ts';
import { startWebhookBridge } from '../../../../src/data-plane/bridges/webhook/webhook-bridge.ts';
import { LOG_FILE } from '../../../../src/data-plane/log/sqlite/log-files.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { message, openQueue } from '../queue/queue-world.ts';
import { bridgeOptions, runBridge } from './running-bridge.ts';

const AWAY = 'mqtt://127.0.0.1:1';
const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const connection = (name: string) => ({ name, url: 'http://127.0.0.1:1/', secret, topics: ['#'], active: false });

/** Queues with a message, as an earlier process left them. */
async function leave(folder: string, ...names: string[]): Promise<void> {
  for (const name of names) {
    const { queue, close } = await openQueue({ folder, name });
    queue.push(message(name), () => undefined);
    await close({ discard: false });
  }
}

/** The number of messages in a queue of a closed bridge. */
async function left(folder: string, name: string): Promise<number> {
  const { queue, close } = await openQueue({ folder, name });
  const { length } = queue;
  await close({ discard: false });
  return length;
}

/** Files below the folder that this process has open. */
function openFiles(folder: string): string[] {
  const descriptors = readdirSync('/proc/self/fd').map((fd) => `/proc/self/fd/${fd}`);
  const links = descriptors.flatMap((link) => (existsSync(link) ? [readlinkSync(link)] : []));
  return links.filter((path) => path.startsWith(folder));
}

test.each([true, false])('queues that the first configuration does not name remain: %s', async (keepsOtherQueues) => {
  const folder = temporaryFolder();
  await leave(folder, 'named', 'other');
  const options = { ...bridgeOptions('webhook-bridge', AWAY, folder), keepsOtherQueues };
  const { bridge, status } = await runBridge(startWebhookBridge, options, { connections: [connection('named')] });
  expect(status().queuedMessages).toBe(1);
  await bridge.close({ discard: false });
  expect([await left(folder, 'named'), await left(folder, 'other')]).toEqual([1, keepsOtherQueues ? 1 : 0]);
});

test('queues that cannot be opened leave nothing open or counted, and all run when they can be opened', async () => {
  const folder = temporaryFolder();
  const storage = new QueueStorage(1_048_576);
  const options = { ...bridgeOptions('webhook-bridge', AWAY, folder), storage: storage.of('plant') };
  const bridge = startWebhookBridge(options);
  onTestFinished(() => bridge.close({ discard: false }));
  await leave(folder, 'one');
  const path = join(folder, LOG_FILE);
  renameSync(path, `${path}.other`);
  mkdirSync(path);
  const connections = ['zero', 'one'].map(connection);
  for (let count = 0; count < 3; count += 1) {
    await expect(bridge.apply({ connections })).rejects.toMatchObject({ code: 'SQLITE_CANTOPEN' });
    expect(storage.bytes).toBe(0);
    expect(openFiles(folder)).toEqual([]);
  }
  expect(bridge.status()).toEqual([]);

  rmdirSync(path);
  renameSync(`${path}.other`, path);
  await bridge.apply({ connections });
  expect(bridge.status().map(({ connectionName, queuedMessages }) => [connectionName, queuedMessages])).toEqual([
    ['zero', 0],
    ['one', 1],
  ]);
  expect(storage.bytes).toBeGreaterThan(0);
});
