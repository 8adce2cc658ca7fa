import { setImmediate } from 'node:timers/promises';
import { refusalsPlugin } from '../../../src/domains/refusals/refusals-plugin.ts';
import type { Refusal } from '../../../src/protocol/apis/refusals/refusal.ts';
import type { RecordedLine } from '../../protocol/mosquitto-log/recordings.ts';
import { startScriptedBroker } from '../../support/aedes-broker.ts';
import { connectedLink } from '../../support/link.ts';

/** Sends lines of the log of a Mosquitto, and lists what it refused. */
export async function startRefusals(version: string) {
  const broker = await startScriptedBroker(() => []);
  const session = await connectedLink({ url: broker.url });
  const send = async (lines: readonly RecordedLine[]) => {
    for (const [level, text] of lines) await broker.publish(`$SYS/broker/log/${level}`, `1700000000: ${text}`);
  };
  // It waits until the log has a connection.
  const created = Promise.resolve(refusalsPlugin.create({ session, emit: () => undefined }));
  let plugin: Awaited<typeof created> | null = null;
  void created.then((result) => {
    plugin = result;
  });
  while (plugin === null) {
    await send([['N', 'New client connected from 10.0.0.1:1 as first (p5, c1, k60).']]);
    await setImmediate();
  }
  const { execute, limit } = await created.then((result) => {
    if ('unavailable' in result) throw new Error(result.unavailable.text);
    return { execute: result.execute.bind(result), limit: () => result.limit?.text };
  });
  let arrived: () => void = () => undefined;
  await session.subscribe('test/arrived', () => arrived());
  await broker.publish('$SYS/broker/version', version);
  let last = 0;
  /** The refusals that these lines report. */
  const refusalsOf = async (lines: readonly RecordedLine[]): Promise<readonly Refusal[]> => {
    await send(lines);
    const whenArrived = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    await broker.publish('test/arrived', '');
    await whenArrived;
    const { refusals, sequence } = execute({ command: 'listRefusals', after: last }) as {
      refusals: readonly Refusal[];
      sequence: number;
    };
    last = sequence;
    return refusals.toReversed();
  };
  return { refusalsOf, limit };
}
