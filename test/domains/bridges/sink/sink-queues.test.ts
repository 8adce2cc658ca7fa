import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { queuePath } from '../../../../src/domains/bridges/queue/queue-file.ts';
import { startWebhookBridge } from '../../../../src/domains/bridges/webhook/webhook-bridge.ts';
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

test.each([true, false])('queues that the first configuration does not name remain: %s', async (keepsOtherQueues) => {
  const folder = newFolder();
  const [named, other] = [await leave(folder, 'named'), await leave(folder, 'other')];
  const options = { ...bridgeOptions('webhook-bridge', AWAY, folder), keepsOtherQueues };
  const { status } = await runBridge(startWebhookBridge, options, { connections: [connection('named')] });
  expect([named, other].map(existsSync)).toEqual([true, keepsOtherQueues]);
  expect(status().queuedMessages).toBe(1);
});
