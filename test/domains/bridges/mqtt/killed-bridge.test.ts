import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type { BridgeConnectionStatus } from '../../../../src/domains/bridges/model/bridge-status.ts';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { bridgeFolder, listen } from './bridge-world.ts';

const SCRIPT = fileURLToPath(new URL('./bridge-process.mjs', import.meta.url));

function startProcess(work: unknown): ChildProcess {
  const child = fork(SCRIPT, [JSON.stringify(work)]);
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function statusWhere(child: ChildProcess, isSo: (status: BridgeConnectionStatus) => boolean): Promise<void> {
  for (;;) {
    const [[status]] = (await once(child, 'message')) as [BridgeConnectionStatus[]];
    if (status && isSo(status)) return;
  }
}

test('nothing that a killed process had acknowledged is lost, and nothing that it had not', async () => {
  const lines = ['max_queued_messages 0'];
  const [here, there] = [await startMosquitto({ lines }), await startMosquitto({ lines })];
  const work = {
    options: {
      brokerId: 'test',
      bridgeId: 'mqtt-bridge',
      local: { id: 'test', url: here.url, timeoutMs: 5_000 },
      rules: { allowedHosts: [] },
      folder: bridgeFolder(),
    },
    config: { connections: [{ name: 'test', url: there.url, topics: [{ pattern: 'kept/#', direction: 'out' }] }] },
  };
  const first = startProcess(work);
  await statusWhere(first, ({ state }) => state === 'CONNECTED');
  await there.stop();
  await statusWhere(first, ({ state }) => state === 'UNREACHABLE');
  const publisher = await here.client();
  let published = 0;
  const publish = async (count: number) => {
    const all = Array.from({ length: count }, (_, index) =>
      publisher.publishAsync('kept/a', String(published + index), { qos: 1 }),
    );
    published += count;
    await Promise.all(all);
  };
  const queued = statusWhere(first, ({ queuedMessages }) => queuedMessages >= 1_000);
  await publish(1_000);
  await queued;
  // In the middle of more.
  const more = publish(1_000);
  await statusWhere(first, ({ queuedMessages }) => queuedMessages > 1_000);
  const gone = once(first, 'exit');
  first.kill('SIGKILL');
  await Promise.all([gone, more]);
  await there.start();
  const heard = await listen(await there.client(), 'kept/#');
  startProcess(work);
  const wanted = new Set(Array.from({ length: published }, (_, index) => String(index)));
  let looked = 0;
  await heard.until(() => {
    for (; looked < heard.heard.length; looked += 1) wanted.delete(heard.heard[looked]?.text ?? '');
    return wanted.size === 0;
  });
  // In order, but for what was sent twice because it is not known whether the killed one had it.
  const firsts = [...new Set(heard.texts())].map(Number);
  expect(firsts).toEqual(firsts.toSorted((a, b) => a - b));
});
