import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type { BridgeConnectionStatus } from '../../../../src/data-plane/bridges/model/bridge-status.ts';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { programUrl } from '../../../support/programs.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { listen } from './bridge-world.ts';

const SCRIPT = fileURLToPath(programUrl('test/data-plane/bridges/mqtt/bridge-process.mjs'));

/** A process with a bridge, and the last status that it reported. */
function startProcess(work: unknown) {
  const child: ChildProcess = fork(SCRIPT, [JSON.stringify(work)]);
  onTestFinished(() => void child.kill('SIGKILL'));
  let last: BridgeConnectionStatus | undefined;
  child.on('message', ([status]: BridgeConnectionStatus[]) => {
    last = status;
  });
  const statusWhere = (isSo: (status: BridgeConnectionStatus) => boolean) =>
    expect.poll(() => last !== undefined && isSo(last), { interval: 20 }).toBe(true);
  return { child, statusWhere };
}

test('nothing that a killed process had acknowledged is lost, and nothing that it had not', async () => {
  const lines = ['max_queued_messages 0'];
  const [here, there] = [await startMosquitto({ lines }), await startMosquitto({ lines })];
  const work = {
    options: {
      brokerId: 'test',
      bridgeId: 'mqtt-bridge',
      local: { id: 'test', url: here.url, timeoutMs: 30_000 },
      rules: { allowedHosts: [] },
      folder: temporaryFolder(),
    },
    config: { connections: [{ name: 'test', url: there.url, topics: [{ pattern: 'kept/#', direction: 'out' }] }] },
  };
  const { child: first, statusWhere } = startProcess(work);
  await statusWhere(({ state }) => state === 'CONNECTED');
  await there.stop();
  await statusWhere(({ state }) => state === 'UNREACHABLE');
  const publisher = await here.client();
  let published = 0;
  const publish = async (count: number) => {
    const all = Array.from({ length: count }, (_, index) =>
      publisher.publishAsync('kept/a', String(published + index), { qos: 1 }),
    );
    published += count;
    await Promise.all(all);
  };
  const queued = statusWhere(({ queuedMessages }) => queuedMessages >= 1_000);
  await publish(1_000);
  await queued;
  // In the middle of more.
  const more = publish(1_000);
  await statusWhere(({ queuedMessages }) => queuedMessages > 1_000);
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
