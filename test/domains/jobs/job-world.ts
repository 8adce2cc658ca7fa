import { expect } from 'vitest';
import { startMosquitto } from '../../support/mosquitto.ts';
import { openPostgresClient } from '../../support/postgres-client.ts';
import { bearer, sharedDatabase } from '../../support/service.ts';
import type { ServiceProcess, StartedService } from '../../support/service-process.ts';

/** Mosquitto drops nothing for slow receivers. */
const LINES = ['max_queued_messages 0'];

const CREATE = 'mutation ($input: CreateStreamInput!) { createStream(input: $input) { stream { name state } } }';
const REPLAY = 'mutation ($input: ReplayStreamInput!) { replayStream(input: $input) { stream { replay { jobId } } } }';
const JOB = `query ($id: ID!) { job(id: $id) {
  id kind streamName state done total attempt problem endedAt broker { id } } }`;

interface JobView {
  readonly id: string;
  readonly kind: string;
  readonly streamName: string | null;
  readonly state: string;
  readonly done: number;
  readonly total: number;
  readonly attempt: number;
  readonly problem: string | null;
  readonly endedAt: string | null;
}

export const jobIn = async (service: Pick<ServiceProcess, 'graphql'>, id: string): Promise<JobView> =>
  (await service.graphql(JOB, { id })).job;

type Start<S extends StartedService> = (env?: Record<string, string>) => Promise<S>;

/** Two services on one PostgreSQL, with a broker that each is connected to. */
export async function twoServices<One extends StartedService, Two extends StartedService>(
  [startOne, startTwo]: readonly [Start<One>, Start<Two>],
  lines: readonly string[] = [],
) {
  const databaseUrl = await sharedDatabase();
  const env = { DATABASE_URL: databaseUrl, SECRET_KEY: '5e'.repeat(32) };
  const mosquitto = await startMosquitto({ lines: [...LINES, ...lines] });
  const one = await startOne(env);
  const two = await startTwo(env);
  const brokerId = await one.addBroker(mosquitto.url);
  const connected = 'query ($id: ID!) { broker(id: $id) { isConnected } }';
  const isConnected = async () => (await two.graphql(connected, { id: brokerId })).broker.isConnected;
  await expect.poll(isConnected).toBe(true);
  /** A connection of its own to the database. */
  const sql = async () => {
    const client = await openPostgresClient(databaseUrl);
    return async (text: string) => (await client.query(text)).rows;
  };
  return { mosquitto, one, two, brokerId, sql };
}

export async function oneService<S extends StartedService>(startOne: Start<S>, lines: readonly string[] = []) {
  const mosquitto = await startMosquitto({ lines: [...LINES, ...lines] });
  const one = await startOne();
  return { mosquitto, one, brokerId: await one.addBroker(mosquitto.url) };
}

type Place = Awaited<ReturnType<typeof oneService<StartedService>>>;

/** A stream with the stored messages "0", "1", …, and what is replayed of them. */
export async function storedNumbers({ mosquitto, one, brokerId }: Place, count: number) {
  const stream = { brokerId, name: 's', sourceTopic: 'in', process: false, persist: true };
  const { createStream } = await one.graphql(CREATE, { input: stream });
  expect(createStream.stream.state).toBe('RUNNING');
  const client = await mosquitto.client();
  const startedAt = performance.now();
  for (let start = 0; start < count; start += 100) {
    const numbers = Array.from({ length: 100 }, (_, index) => String(start + index));
    await Promise.all(numbers.map((number) => client.publishAsync('in', number, { qos: 1 })));
  }
  const tookMs = performance.now() - startedAt;
  const stored = 'query ($id: ID!) { broker(id: $id) { stream(name: "s") { messageCount } } }';
  const storedIn = async () => (await one.graphql(stored, { id: brokerId })).broker.stream.messageCount;
  await expect.poll(storedIn).toBe(count);
  const heard: number[] = [];
  const receiver = await mosquitto.client();
  receiver.on('message', (_topic, payload) => heard.push(Number(payload.toString())));
  await receiver.subscribeAsync('again', { qos: 1 });
  return {
    heard,
    /** Starts a replay that takes about so many seconds, and returns the id of its job. */
    replay: async (service: StartedService, seconds: number, more: object = {}): Promise<string> => {
      const input = { brokerId, name: 's', topic: 'again', speed: tookMs / 1_000 / seconds, ...more };
      return (await service.graphql(REPLAY, { input })).replayStream.stream.replay.jobId;
    },
  };
}

/** Whether what is stored for brokers runs in the process. */
async function runsBrokers({ url, root }: StartedService): Promise<boolean> {
  const metrics = await (await fetch(`${url}/metrics`, { headers: bearer(root) })).text();
  return /^brokergraph_process_brokers [1-9]/m.test(metrics);
}

/** The process that runs the only broker, and the other one. */
export async function runnerOf<P extends StartedService>(one: P, two: P) {
  const running = async () => Promise.all([runsBrokers(one), runsBrokers(two)]);
  await expect.poll(running).toSatisfy(([first, second]: boolean[]) => first !== second);
  return (await runsBrokers(one)) ? { runner: one, other: two } : { runner: two, other: one };
}

/** What came a second time. Everything else must be in the expected order. */
export function repeatedOf(heard: readonly number[], expected: readonly number[]): number[] {
  const seen = new Set<number>();
  const repeated: number[] = [];
  for (const number of heard) {
    if (seen.has(number)) repeated.push(number);
    seen.add(number);
  }
  expect([...seen]).toEqual(expected);
  return repeated;
}
