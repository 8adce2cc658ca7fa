/**
 * The thread of all streams beside remote brokers, so that a busy stream delays nobody else's requests. A bug in it ends it with an error, and the
 * service starts it again.
 */
import { parentPort } from 'node:worker_threads';
import { ServiceError } from '../../errors.ts';
import { WorkerHosts } from './worker-hosts.ts';
import type { ServiceMessage, WireError, WorkerMessage } from './worker-protocol.ts';

const port = parentPort;
if (!port) throw new Error('stream-worker.js runs as a worker thread');
const tell = (message: WorkerMessage) => port.postMessage(message);

/** Problems told in a row may be many; those of one second are told once each. */
const recent = new Set<string>();
const onProblem = (level: 'warn' | 'error', fields: object, text: string) => {
  const key = `${text} ${JSON.stringify(fields)}`;
  if (recent.has(key) || recent.size > 20) return;
  recent.add(key);
  setTimeout(() => recent.delete(key), 1_000).unref();
  tell({ type: 'log', level, fields, text });
};

const hosts = new WorkerHosts({
  onChange: (engine, id, report) => tell({ type: 'changed', engine, id, report }),
  onFailed: (engine, reason) => tell({ type: 'failed', engine, reason }),
  onProblem,
});

const answer = (call: number, work: Promise<unknown>) => {
  work.then(
    (value) => tell({ type: 'answer', call, value }),
    (error: unknown) => tell({ type: 'refusal', call, refusal: wireError(error) }),
  );
};

function wireError(error: unknown): WireError {
  if (error instanceof ServiceError) {
    const { code, message, info } = error;
    return info ? { code, message, info } : { code, message };
  }
  onProblem(
    'error',
    { reason: error instanceof Error ? (error.stack ?? error.message) : String(error) },
    'a stream command failed',
  );
  return { code: 'INTERNAL_ERROR', message: 'The command failed' };
}

port.on('message', (message: ServiceMessage) => {
  if (message.type === 'open') hosts.open(message.engine, message.options);
  else if (message.type === 'call') answer(message.call, hosts.call(message.engine, message.method, message.args));
  else if (message.type === 'close') answer(message.call, hosts.close(message.engine, message.forGood));
  else port.close();
});
