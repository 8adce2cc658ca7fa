/**
 * Processes that read all topics of a broker: the topic recorder of the product, or mqtt.js on `#` with a handler that
 * only counts. Run as `node topic-readers.js <port> recorder <payload limit>` or `node topic-readers.js <port>
 * mqtt.js`, with an IPC channel.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connectAsync } from 'mqtt';
import type { TopicRequests } from '../../src/data-plane/topic-tree/model/topic-recorder.ts';
import { DEFAULT_TOPIC_SETTINGS, MAX_TOPIC_LIMIT } from '../../src/data-plane/topic-tree/model/topic-settings.ts';
import { RemoteTopicRecorder } from '../../src/data-plane/topic-tree/recorder/remote-topic-recorder.ts';
import { IterationBatch, pauseShortIterations } from '../../src/platform/scheduling/iteration-batch.ts';

export type TopicQuestion = {
  [Type in keyof TopicRequests]: { readonly type: Type; readonly request: TopicRequests[Type] };
}[keyof TopicRequests];

interface TimedAnswers {
  readonly milliseconds: readonly number[];
  /** The last result. */
  readonly answer: unknown;
}

export interface TopicReader {
  readonly pid: number;
  /** Number of received messages. */
  count(): Promise<number>;
  /** Whether a message arrived on this topic (recorder), or the last message did (mqtt.js). */
  hasSeen(topic: string): Promise<boolean>;
  /** Runs garbage collection. */
  tidy(): Promise<void>;
  /** Runs a query `times` times, one after the other. Only for the recorder. */
  ask(question: TopicQuestion, times: number): Promise<TimedAnswers>;
  close(): void;
}

type Task =
  | { readonly kind: 'COUNT' | 'TIDY' }
  | { readonly kind: 'SEEN'; readonly topic: string }
  | { readonly kind: 'ASK'; readonly question: TopicQuestion; readonly times: number };

/** `payloadLimit`: maximum stored bytes of each payload. */
export const startRecorder = (port: number, payloadLimit: number): Promise<TopicReader> =>
  start([String(port), 'recorder', String(payloadLimit)]);

export const startHandler = (port: number): Promise<TopicReader> => start([String(port), 'mqtt.js']);

async function start(args: string[]): Promise<TopicReader> {
  const profile = process.env.BENCH_PROFILE ? ['--cpu-prof', `--cpu-prof-dir=${process.env.BENCH_PROFILE}`] : [];
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), args, { execArgv: ['--expose-gc', ...profile] });
  await once(child, 'message');
  const run = async <Result>(task: Task): Promise<Result> => {
    child.send(task);
    const [result] = await once(child, 'message');
    return result as Result;
  };
  return {
    pid: child.pid ?? 0,
    count: () => run({ kind: 'COUNT' }),
    hasSeen: (topic) => run({ kind: 'SEEN', topic }),
    tidy: () => run({ kind: 'TIDY' }),
    ask: (question, times) => run({ kind: 'ASK', question, times }),
    close: () => child.disconnect(),
  };
}

interface Reading {
  count(): number | Promise<number>;
  hasSeen(topic: string): boolean | Promise<boolean>;
  ask(question: TopicQuestion): Promise<unknown>;
}

async function readByHandler(port: number): Promise<Reading> {
  const client = await connectAsync(`mqtt://127.0.0.1:${port}`, { clientId: 'bench-handler' });
  let count = 0;
  let last = '';
  client.on('message', (topic) => {
    count += 1;
    last = topic;
  });
  await client.subscribeAsync('#');
  return {
    count: () => count,
    hasSeen: (topic) => topic === last,
    ask: () => Promise.reject(new Error('It keeps nothing')),
  };
}

async function readByRecorder(port: number, payloadLimit: number): Promise<Reading> {
  const recorder = new RemoteTopicRecorder({
    local: { id: 'bench', url: `mqtt://127.0.0.1:${port}`, timeoutMs: 10_000 },
    clientId: 'bench-recorder',
    maxBytes: 2 ** 31,
    // The same option as in the recording thread of the product.
    iterationBatch: new IterationBatch(pauseShortIterations()),
    onStopped: () => undefined,
    onFault: (error) => {
      throw error;
    },
  });
  const limits = { publishLimit: MAX_TOPIC_LIMIT, subscribeLimit: MAX_TOPIC_LIMIT, payloadLimit };
  await recorder.apply({ ...DEFAULT_TOPIC_SETTINGS, ...limits, ttlSeconds: 24 * 3_600 });
  await recorder.query('status', {});
  return {
    count: async () => {
      const { messages, published } = await recorder.query('status', {});
      return messages + published.leftOut;
    },
    hasSeen: async (topic) => (await recorder.query('topic', { kind: 'PUBLISHED', topic })) !== null,
    ask: ({ type, request }) => recorder.query(type, request as never),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('disconnect', () => process.exit());
  const [port, kind, payloadLimit] = process.argv.slice(2);
  const reading =
    kind === 'recorder' ? await readByRecorder(Number(port), Number(payloadLimit)) : await readByHandler(Number(port));

  const perform = async (task: Task): Promise<unknown> => {
    switch (task.kind) {
      case 'COUNT':
        return reading.count();
      case 'SEEN':
        return reading.hasSeen(task.topic);
      case 'TIDY':
        // A second collection returns unused heap pages to the system.
        for (let turn = 0; turn < 2; turn += 1) {
          globalThis.gc?.();
          await delay(200);
        }
        return true;
      case 'ASK': {
        const milliseconds: number[] = [];
        let answer: unknown;
        for (let turn = 0; turn < task.times; turn += 1) {
          const from = performance.now();
          answer = await reading.ask(task.question);
          milliseconds.push(performance.now() - from);
        }
        return { milliseconds, answer };
      }
    }
  };
  process.on('message', (task: Task) => {
    void perform(task).then((result) => process.send?.(result));
  });
  process.send?.('reading');
}
