import { describe, expect, test } from 'vitest';
import { heard, startMosquitto } from '../../../support/mosquitto.ts';
import { sharedDatabase, startTestService, type TestService } from '../../../support/service.ts';
import { subscribe } from '../../../support/subscription.ts';

const CREATE = 'mutation ($input: CreateStreamInput!) { createStream(input: $input) { stream { name } } }';
const UPDATE = 'mutation ($input: UpdateStreamInput!) { updateStream(input: $input) { stream { ttl } } }';
const REPLAY = 'mutation ($input: ReplayStreamInput!) { replayStream(input: $input) { stream { name } } }';
const LIST = 'query ($id: ID!) { broker(id: $id) { streams { nodes { name ttl state messageCount } } } }';

const streamsOf = async ({ graphql }: TestService, id: string) =>
  (await graphql(LIST, { id })).data?.broker?.streams?.nodes;

// Two services on one PostgreSQL, as two processes would be: they share nothing but the database.
describe.skipIf(process.env.TEST_ENGINE !== 'postgresql')('two services on one database', () => {
  test('one service runs the streams of a broker, both serve them, and the other continues when the first closes', async () => {
    const broker = await startMosquitto();
    const env = { DATABASE_URL: await sharedDatabase(), SECRET_KEY: '5e'.repeat(32) };
    const one = await startTestService({ env });
    const two = await startTestService({ env });
    const body = { name: 'line', url: broker.url };
    const { id } = (await one.rest('POST', `/api/projects/${one.projectId}/brokers`, one.root, body)).body;
    const fast = { brokerId: id, name: 'fast', sourceTopic: 'plant/+', targetTopic: 'fast', persist: true, ttl: 60 };
    expect((await one.graphql(CREATE, { input: fast })).errors).toBeUndefined();
    const running = [{ name: 'fast', ttl: 60, state: 'RUNNING', messageCount: 0 }];
    await expect.poll(() => streamsOf(one, id)).toEqual(running);
    await expect.poll(() => streamsOf(two, id)).toEqual(running);

    const client = await broker.client();
    const outputs = await heard(client, 'fast');
    const again = await heard(client, 'again');
    for (const n of [1, 2]) await client.publishAsync('plant/a', String(n), { qos: 1 });
    await expect.poll(() => outputs).toEqual(['1', '2']);
    await expect.poll(() => streamsOf(two, id)).toMatchObject([{ messageCount: 2 }]);

    // Commands to the process that does not run them are executed or refused, and it receives their events.
    expect((await two.graphql(UPDATE, { input: { brokerId: id, name: 'fast', ttl: 90 } })).data.updateStream).toEqual({
      stream: { ttl: 90 },
    });
    expect(await streamsOf(one, id)).toMatchObject([{ ttl: 90 }]);
    expect((await two.graphql(CREATE, { input: fast })).errors?.[0]?.extensions.code).toBe('ALREADY_EXISTS');
    const loop = { brokerId: id, name: 'fast', targetTopic: 'plant/b' };
    expect((await two.graphql(UPDATE, { input: loop })).errors?.[0]?.extensions).toMatchObject({
      code: 'INVALID',
      info: { issues: [{ path: 'input.targetTopic' }] },
    });
    const events = subscribe(
      two,
      two.root,
      'subscription ($id: ID!) { streamReplay(brokerId: $id, streamName: "fast") { replay { state published } } }',
      { id },
    );
    const replay = { brokerId: id, name: 'fast', topic: 'again', fastest: true };
    expect((await two.graphql(REPLAY, { input: replay })).errors).toBeUndefined();
    await events.until(({ streamReplay }) => streamReplay.replay?.state === 'DONE');
    await expect.poll(() => again).toEqual(['1', '2']);

    await one.close();
    for (const n of [3, 4]) await client.publishAsync('plant/a', String(n), { qos: 1 });
    await expect.poll(() => outputs).toEqual(['1', '2', '3', '4']);
    // With what the other one stored.
    await expect.poll(() => streamsOf(two, id)).toMatchObject([{ ttl: 90, state: 'RUNNING', messageCount: 4 }]);
    again.length = 0;
    expect((await two.graphql(REPLAY, { input: replay })).errors).toBeUndefined();
    await expect.poll(() => again).toEqual(['1', '2', '3', '4']);
  });
});
