import { existsSync, mkdirSync, readdirSync, readlinkSync, rmdirSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { queuePath } from '../../../../src/data-plane/bridges/queue/queue-file.ts';
import { QueueStorage } from '../../../../src/data-plane/bridges/queue/queue-storage.ts';
import { startWebhookBridge } from '../../../../src/data-plane/bridges/webhook/webhook-bridge.ts';
import { message, openQueue } from '../queue/queue-world.ts';
import { bridgeOptions, newFolder, runBridge } from './running-bridge.ts';

const AWAY = 'mqtt://127.0.0.1:1';
const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const connection = (name: string) => ({ name, url: 'http://127.0.0.1:1/', secret, topics: ['#'], active: false });

/** A queue with a message, as an earlier process left it. Returns its file. */
async function leave(folder: string, name: string): Promise<string> {
  const { queue } = openQueue({ folder, name });
  queue.push(message(name), () => undefined);
  await queue.close({ discard: false });
  return queuePath(folder, name);
}

/** Files below the folder that this process has open. */
function openFiles(folder: string): string[] {
  const descriptors = readdirSync('/proc/self/fd').map((fd) => `/proc/self/fd/${fd}`);
  const links = descriptors.flatMap((link) => (existsSync(link) ? [readlinkSync(link)] : []));
  return links.filter((path) => path.startsWith(folder));
}

test.each([true, false])('queues that the first configuration does not name remain: %s', async (keepsOtherQueues) => {
  const folder = newFolder();
  const [named, other] = [await leave(folder, 'named'), await leave(folder, 'other')];
  const options = { ...bridgeOptions('webhook-bridge', AWAY, folder), keepsOtherQueues };
  const { status } = await runBridge(startWebhookBridge, options, { connections: [connection('named')] });
  expect([named, other].map(existsSync)).toEqual([true, keepsOtherQueues]);
  expect(status().queuedMessages).toBe(1);
});

test('a queue that cannot be opened leaves no other queue open or counted, and all run when it can be opened', async () => {
  const folder = newFolder();
  const storage = new QueueStorage(1_048_576);
  const options = { ...bridgeOptions('webhook-bridge', AWAY, folder), storage: storage.of('plant') };
  const bridge = startWebhookBridge(options);
  onTestFinished(() => bridge.close({ discard: false }));
  await bridge.apply({ connections: [connection('zero')] });
  await leave(folder, 'one');
  const path = queuePath(folder, 'broken');
  mkdirSync(path);
  const connections = ['zero', 'one', 'broken'].map(connection);
  for (let count = 0; count < 3; count += 1) {
    await expect(bridge.apply({ connections })).rejects.toMatchObject({ code: 'SQLITE_CANTOPEN' });
    expect(storage.bytes).toBe(0);
    expect(openFiles(folder)).toEqual([]);
  }
  expect(bridge.status().map(({ connectionName }) => connectionName)).toEqual(['zero']);

  rmdirSync(path);
  await bridge.apply({ connections });
  expect(bridge.status().map(({ connectionName, queuedMessages }) => [connectionName, queuedMessages])).toEqual([
    ['zero', 0],
    ['one', 1],
    ['broken', 0],
  ]);
  expect(storage.bytes).toBeGreaterThan(0);
});
