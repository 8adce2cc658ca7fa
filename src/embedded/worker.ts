/**
 * The worker thread of one embedded broker. It tells `running` or `failed` once, then `log` as needed; on `close` it ends its
 * connections, writes what is left and tells `closed`. What it does not survive (a journal that cannot be written, a bug, memory
 * at its limit) ends the thread with an error, and the service starts another one from what is on disk.
 */
import { writeToStream } from 'mqtt-packet';
import { type AssembledBroker, startBroker } from './broker-assembly.ts';
import { openServicePort } from './hosting/service-port.ts';
import type { ServiceMessage } from './worker-protocol.ts';

// What aedes writes packets with keeps a table of all two-byte numbers, 65,536 buffers and 7 MB, for one small allocation less per packet.
Object.assign(writeToStream, { cacheNumbers: false });

const port = await openServicePort();
const { options, tell } = port;
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Problems told in a row may be many; those of one second are told once each. */
const recent = new Set<string>();
const onProblem = (text: string, error: unknown) => {
  const reason = reasonOf(error);
  const problem = `${text}: ${reason}`;
  if (recent.has(problem) || recent.size > 20) return;
  recent.add(problem);
  setTimeout(() => recent.delete(problem), 1_000).unref();
  tell({ type: 'log', level: 'warn', text, reason });
};

let broker: AssembledBroker | null = null;
let areTopicPayloadsKept = options.topicPayloads;
let isClosing = false;
const shutDown = async (running: AssembledBroker) => {
  await running.close();
  tell({ type: 'closed' });
  port.close();
};
port.onMessage((message: ServiceMessage) => {
  if (message.type === 'topicPayloads') {
    areTopicPayloadsKept = message.areKept;
    broker?.topicPayloadsChanged();
    return;
  }
  if (isClosing) return;
  isClosing = true;
  // While it starts, the end of the start sees to it. A rejection is uncaught and ends the worker, which is what is wanted.
  if (broker) void shutDown(broker);
  // It may wait for the other nodes, or for what they share, as long as that takes.
  else if (options.cluster !== undefined) port.close();
});

try {
  broker = await startBroker(options, {
    onProblem,
    onRefused: tell,
    areTopicPayloadsKept: () => areTopicPayloadsKept,
    onBroken: (error) => {
      // Out of whatever stack reported it; an uncaught error ends the worker. SQLite's own kind would reach the service without its text.
      setImmediate(() => {
        throw new Error(error.message);
      });
    },
  });
  if (areTopicPayloadsKept !== options.topicPayloads) broker.topicPayloadsChanged();
  tell({ type: 'running', listeners: broker.listeners });
  if (isClosing) void shutDown(broker);
} catch (error) {
  tell({ type: 'failed', reason: reasonOf(error) });
  port.close();
}
