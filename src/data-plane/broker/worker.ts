/**
 * The worker thread of one embedded broker. It sends `running` or `failed` once, then other messages. On `close` it
 * flushes the journal and sends `closed`. An uncaught error ends the thread, and the service starts another one.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../platform/errors.ts';
import { type AssembledBroker, startBroker } from './broker-assembly.ts';
import type { Fault } from './core/faults.ts';
import type { ServiceMessage, WorkerMessage, WorkerOptions } from './worker-protocol.ts';

if (parentPort === null) throw new Error('this module runs in a worker thread');
const port = parentPort;
const options = workerData as WorkerOptions;
const send = (message: WorkerMessage) => port.postMessage(message);
const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? '') : '');

/** Limits the log to one entry per second and problem, and 20 different problems per second. */
const recent = new Set<string>();
const isLogged = (text: string, reason: string): boolean => {
  const problem = `${text}: ${reason}`;
  if (recent.has(problem) || recent.size > 20) return false;
  recent.add(problem);
  setTimeout(() => recent.delete(problem), 1_000).unref();
  return true;
};
const onProblem = (text: string, error: unknown) => {
  const reason = messageOf(error);
  if (isLogged(text, reason)) send({ type: 'log', level: 'warn', text, reason });
};
const onFault = ({ kind, text, error }: Fault) => {
  const reason = messageOf(error);
  send({ type: 'fault', kind });
  if (isLogged(text, reason)) send({ type: 'log', level: 'error', text, reason, stack: stackOf(error) });
};

let broker: AssembledBroker | null = null;
let { settings } = options;
let isClosing = false;
const shutDown = async (running: AssembledBroker) => {
  await running.close();
  send({ type: 'closed' });
  port.close();
};
port.on('message', (message: ServiceMessage) => {
  if (message.type === 'settings') {
    settings = message.settings;
    broker?.settingsChanged();
    return;
  }
  if (isClosing) return;
  isClosing = true;
  // During the start, the code below shuts down. A rejection is uncaught and ends the worker, which is intended.
  if (broker) void shutDown(broker);
});

try {
  broker = await startBroker(options, {
    onProblem,
    onRefused: send,
    onFault,
    onQuarantined: (record) => send({ type: 'quarantined', record }),
    settings: () => settings,
    onDiskFault: (reason) => send({ type: 'diskFault', reason }),
    onBroken: (error) => {
      // An uncaught error ends the worker. The class of SQLite's errors would reach the service without its message.
      setImmediate(() => {
        throw Object.assign(new Error(error.message), { stack: error.stack });
      });
    },
  });
  if (settings !== options.settings) broker.settingsChanged();
  send({ type: 'running', listeners: broker.listeners });
  if (isClosing) void shutDown(broker);
} catch (error) {
  send({ type: 'failed', reason: messageOf(error), stack: stackOf(error) });
  port.close();
}
