/**
 * The worker thread of one embedded broker. It tells `running` or `failed` once, then `log` as needed; on `close` it ends its
 * connections, writes what is left and tells `closed`. What it does not survive (a journal that cannot be written, a bug, memory
 * at its limit) ends the thread with an error, and the service starts another one from what is on disk.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { type AssembledBroker, startBroker } from './broker-assembly.ts';
import type { Fault } from './core/faults.ts';
import { disableNumberCache } from './core/mqtt-packet-internals.ts';
import type { ServiceMessage, WorkerMessage, WorkerOptions } from './worker-protocol.ts';

disableNumberCache();

// aedes makes the filters of a returning session unique by a plain object, and a filter may be called `__proto__`. Without the accessor that
// is a name like any other, here and in every library of this thread; Node has `--disable-proto=delete` for the same.
Reflect.deleteProperty(Object.prototype, '__proto__');

if (parentPort === null) throw new Error('this module runs in a worker thread');
const port = parentPort;
// Passed by `startWorkerThread`.
const options = workerData as WorkerOptions;
const tell = (message: WorkerMessage) => port.postMessage(message);
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? '') : '');

/** Problems may come in quick succession: each is logged once a second, and at most 20 of them. */
const recent = new Set<string>();
const isLogged = (text: string, reason: string): boolean => {
  const problem = `${text}: ${reason}`;
  if (recent.has(problem) || recent.size > 20) return false;
  recent.add(problem);
  setTimeout(() => recent.delete(problem), 1_000).unref();
  return true;
};
const onProblem = (text: string, error: unknown) => {
  const reason = reasonOf(error);
  if (isLogged(text, reason)) tell({ type: 'log', level: 'warn', text, reason });
};
const onFault = ({ kind, text, error }: Fault) => {
  const reason = reasonOf(error);
  const log = isLogged(text, reason) ? { text, reason, stack: stackOf(error) } : null;
  tell({ type: 'fault', kind, log });
};

let broker: AssembledBroker | null = null;
let areTopicPayloadsStored = options.topicPayloads;
let isClosing = false;
const shutDown = async (running: AssembledBroker) => {
  await running.close();
  tell({ type: 'closed' });
  port.close();
};
port.on('message', (message: ServiceMessage) => {
  if (message.type === 'topicPayloads') {
    areTopicPayloadsStored = message.areStored;
    broker?.topicPayloadsChanged();
    return;
  }
  if (isClosing) return;
  isClosing = true;
  // While it starts, the end of the start sees to it. A rejection is uncaught and ends the worker, which is what is wanted.
  if (broker) void shutDown(broker);
});

try {
  broker = await startBroker(options, {
    onProblem,
    onRefused: tell,
    onFault,
    onQuarantined: (record) => tell({ type: 'quarantined', record }),
    areTopicPayloadsStored: () => areTopicPayloadsStored,
    onBroken: (error) => {
      // Out of whatever stack reported it; an uncaught error ends the worker. SQLite's own kind would reach the service without its text.
      setImmediate(() => {
        throw Object.assign(new Error(error.message), { stack: error.stack });
      });
    },
  });
  if (areTopicPayloadsStored !== options.topicPayloads) broker.topicPayloadsChanged();
  tell({ type: 'running', listeners: broker.listeners });
  if (isClosing) void shutDown(broker);
} catch (error) {
  tell({ type: 'failed', reason: reasonOf(error), stack: stackOf(error) });
  port.close();
}
