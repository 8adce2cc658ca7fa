/** One node of a log in a process of its own, for tests to stop and kill: `<url> <node id> <former: JSON>`. Tells what happens as messages. */
import { openRedisLog } from '../../../../src/embedded/sharing/redis-log/open-redis-log.ts';
import type { LogEntry } from '../../../../src/embedded/sharing/shared-log.ts';
import type { ProcessMessage, ProcessStart } from './node-process.ts';

const tell = (message: ProcessMessage) => process.send?.(message);
const { url, nodeId, timing } = JSON.parse(process.argv[2] ?? '') as ProcessStart;

const { log, snapshot, start } = await openRedisLog({
  url,
  nodeId,
  timing,
  clusterId: 'test',
  isSeed: false,
  place: null,
  onProblem: () => undefined,
  onEnd: ({ reason }) => tell({ ended: reason }),
});
const taken: LogEntry[] = [];
for await (const entry of snapshot ?? []) taken.push(entry);
start({
  apply: () => undefined,
  told: () => undefined,
  reached: () => undefined,
  lost: () => undefined,
  snapshot: () => [],
});
process.on('disconnect', () => process.exit());
let number = 0;
const appendNext = () => {
  const text = `${number++}`;
  log.append({ kind: 'text', about: { text } }).then(
    () => {
      tell({ appended: text });
      appendNext();
    },
    () => undefined,
  );
};
appendNext();
