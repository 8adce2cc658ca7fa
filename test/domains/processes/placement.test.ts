import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { startMosquitto } from '../../support/mosquitto.ts';
import { sharedDatabase, startTestService, type TestService } from '../../support/service.ts';

const BROKERS = 8;
const LIST = 'query { processes { processId role isAlive isDraining isSelf brokerCount } }';
const DRAIN = 'mutation ($input: DrainProcessInput!) { drainProcess(input: $input) { process { isDraining } } }';
const CREATE = 'mutation ($input: CreateStreamInput!) { createStream(input: $input) { stream { name } } }';

/** How many brokers have a stream that runs in the service. */
async function runningIn({ url }: TestService): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return metrics.match(/^brokergraph_streams\{.*state="running".*\} 1$/gm)?.length ?? 0;
}

// Services on one PostgreSQL, as processes would be: they share nothing but the database.
describe.skipIf(process.env.TEST_ENGINE !== 'postgresql')('services on one database', () => {
  test('the first stream of a broker is created through any process, also one that runs no brokers', async () => {
    const mosquitto = await startMosquitto();
    const env = { DATABASE_URL: await sharedDatabase(), SECRET_KEY: '5e'.repeat(32) };
    const one = await startTestService({ env });
    const api = await startTestService({ env: { ...env, ROLE: 'api' } });
    const two = await startTestService({ env });
    for (let nth = 0; nth < 6; nth += 1) {
      const body = { name: `b${nth}`, url: mosquitto.url };
      const { id } = (await api.rest('POST', `/api/projects/${one.projectId}/brokers`, api.root, body)).body;
      const stream = { brokerId: id, name: 's', sourceTopic: 'in', process: false };
      expect((await api.graphql(CREATE, { input: stream })).errors).toBeUndefined();
      const input = { brokerId: id, name: 's', isActive: false };
      const update = 'mutation ($input: UpdateStreamInput!) { updateStream(input: $input) { stream { isActive } } }';
      expect((await two.graphql(update, { input })).data.updateStream.stream).toEqual({ isActive: false });
    }
  });

  test('brokers are spread; they move when a process joins, drains, returns and ends, without losing a message', async () => {
    const mosquitto = await startMosquitto({ lines: ['max_queued_messages 0'] });
    const env = { DATABASE_URL: await sharedDatabase(), SECRET_KEY: '5e'.repeat(32) };
    const one = await startTestService({ env });
    const ids: string[] = [];
    for (let nth = 0; nth < BROKERS; nth += 1) {
      const body = { name: `b${nth}`, url: mosquitto.url };
      const { id } = (await one.rest('POST', `/api/projects/${one.projectId}/brokers`, one.root, body)).body;
      const stream = { brokerId: id, name: 's', sourceTopic: `in/${nth}`, targetTopic: `out/${nth}`, process: false };
      expect((await one.graphql(CREATE, { input: stream })).errors).toBeUndefined();
      ids.push(id);
    }
    await expect.poll(() => runningIn(one)).toBe(BROKERS);

    // One message after the other in each stream, all the time.
    const client = await mosquitto.client();
    const heard = ids.map(() => [] as number[]);
    client.on('message', (topic, payload) => heard[Number(topic.slice(4))]?.push(Number(payload.toString())));
    await client.subscribeAsync('out/+', { qos: 1 });
    let isPublishing = true;
    const publishing = (async () => {
      let count = 0;
      for (; isPublishing; count += 1) {
        await Promise.all(ids.map((_, nth) => client.publishAsync(`in/${nth}`, String(count), { qos: 1 })));
        // Often enough for each move, without a busy loop.
        await delay(20);
      }
      return count;
    })();

    const [two, api] = await Promise.all([
      startTestService({ env }),
      startTestService({ env: { ...env, ROLE: 'api' } }),
    ]);
    const spread = () => Promise.all([one, two, api].map(runningIn));
    await expect.poll(async () => (await spread())[1]).toBeGreaterThan(0);
    await expect.poll(spread).toSatisfy(([a, b, c]: number[]) => (a ?? 0) + (b ?? 0) === BROKERS && c === 0);
    const processes = (await api.graphql(LIST)).data.processes;
    expect(processes).toHaveLength(3);
    expect(processes.find(({ isSelf }: { isSelf: boolean }) => isSelf)).toMatchObject({ role: 'API', isAlive: true });

    const idOf = async (service: TestService): Promise<string> =>
      (await service.graphql(LIST)).data.processes.find(({ isSelf }: { isSelf: boolean }) => isSelf).processId;
    const drain = async (isDraining: boolean) => {
      const input = { processId: await idOf(one), isDraining };
      expect((await api.graphql(DRAIN, { input })).data.drainProcess.process).toEqual({ isDraining });
    };
    await drain(true);
    await expect.poll(spread).toEqual([0, BROKERS, 0]);
    // Commands through a process that runs none of them.
    const state = 'query ($id: ID!) { broker(id: $id) { stream(name: "s") { state } } }';
    expect((await api.graphql(state, { id: ids[0] })).data.broker.stream.state).toBe('RUNNING');
    await drain(false);
    await expect.poll(async () => (await spread())[0]).toBeGreaterThan(0);

    await two.close();
    await expect.poll(() => runningIn(one)).toBe(BROKERS);
    isPublishing = false;
    const count = await publishing;
    const expected = Array.from({ length: count }, (_, index) => index);
    await expect.poll(() => heard.every((numbers) => new Set(numbers).size === count)).toBe(true);
    // In order, except those that were sent again after a move.
    for (const numbers of heard) expect([...new Set(numbers)]).toEqual(expected);
  });
});
