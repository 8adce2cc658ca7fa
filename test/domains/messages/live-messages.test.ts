import { createClient as createSseClient } from 'graphql-sse';
import { expect, onTestFinished, test } from 'vitest';
import { beganTail, KINDS, MESSAGES, type MessageWorld, messageWorld, refusal, tail } from './message-world.ts';

const BINARY = Buffer.from([0xff, 0x00, 0xfe]);

/** Of the observing connection, as the broker knows them. */
async function observedFilters({ service, brokerId, observerId }: MessageWorld): Promise<readonly string[] | null> {
  const { data } = await service.graphql(
    'query ($b: ID!, $c: String!) { broker(id: $b) { connectedClient(clientId: $c) { subscriptions } } }',
    { b: brokerId, c: observerId },
  );
  return data.broker.connectedClient?.subscriptions ?? null;
}

for (const kind of KINDS) {
  test(`messages of ${kind} are sent in order, with exact fields`, async () => {
    const world = await messageWorld(kind);
    const { publisher } = world;
    await publisher.publishAsync('plant/kept', 'before', { retain: true, qos: 1 });
    const began = Date.now();
    const told = await beganTail(world, 'plant/#', { bytes: 6 });
    expect(told.events).toMatchObject([
      { kind: 'SNAPSHOT', messages: [], leftOut: 0, isConnected: true, missed: null },
    ]);
    await told.until(() => told.messages().length > 0);

    await publisher.publishAsync('plant/1', 'text', { qos: 0 });
    await publisher.publishAsync('plant/2', '', { qos: 1 });
    await publisher.publishAsync('plant/3', BINARY, { qos: 2 });
    await publisher.publishAsync('plant/4', 'abcdefgh');
    // The sixth byte is the first one of ß, and within a longer character.
    await publisher.publishAsync('plant/5', 'Strauß');
    await publisher.publishAsync('plant/5/long', '\ufeff💡!');
    await publisher.publishAsync('plant/5/binary', Buffer.from([0x61, 0xc3, 0x28, 0x61, 0x62, 0xf0, 0x9f]));
    await publisher.publishAsync('plant/6', Buffer.alloc(1024 * 1024, 'x'), { qos: 1 });
    await publisher.publishAsync('elsewhere', 'not of the filter', { qos: 1 });
    await publisher.publishAsync('plant/7', 'now', { retain: true, qos: 1 });
    await publisher.publishAsync('plant/ ü/💡//"\\<&>', '\ufeff\u0000');
    await told.until(() => told.messages().length === 11);
    const fields = (topic: string, payload: string | null, bytes: string | Buffer, rest: object = {}) => ({
      topic,
      payload,
      payloadBase64: Buffer.from(bytes).toString('base64'),
      payloadBytes: Buffer.byteLength(bytes),
      isTruncated: false,
      qos: 0,
      retain: false,
      ...rest,
    });
    const truncated = (payloadBytes: number) => ({ payloadBytes, isTruncated: true });
    expect(told.messages().map(({ receivedAt: _, ...message }) => message)).toEqual([
      fields('plant/kept', 'before', 'before', { retain: true }),
      fields('plant/1', 'text', 'text'),
      fields('plant/2', '', ''),
      fields('plant/3', null, BINARY),
      fields('plant/4', 'abcdef', 'abcdef', truncated(8)),
      fields('plant/5', 'Strau', Buffer.from('Strauß').subarray(0, 6), truncated(7)),
      fields('plant/5/long', '\ufeff', Buffer.from('\ufeff💡!').subarray(0, 6), truncated(8)),
      fields('plant/5/binary', null, Buffer.from([0x61, 0xc3, 0x28, 0x61, 0x62, 0xf0]), truncated(7)),
      fields('plant/6', 'xxxxxx', 'xxxxxx', truncated(1024 * 1024)),
      fields('plant/7', 'now', 'now'),
      fields('plant/ ü/💡//"\\<&>', '\ufeff\u0000', '\ufeff\u0000'),
    ]);
    for (const { receivedAt } of told.messages()) expect(Date.parse(receivedAt)).toBeGreaterThanOrEqual(began - 1);
    const sequences = told.events.map(({ sequence }) => sequence);
    expect(sequences).toEqual(sequences.map((_, index) => (sequences[0] ?? 0) + index));
  });

  test(`many subscribers of ${kind} share one subscription, and each has its limits`, async () => {
    const world = await messageWorld(kind);
    const { publisher } = world;
    await publisher.publishAsync('a/kept', 'k', { retain: true, qos: 1 });
    const first = await beganTail(world, 'a/#');
    await first.until(() => first.messages().length === 1);
    const second = await beganTail(world, 'a/#');
    // The second subscriber receives the buffered messages of the first; one with other limits receives retained
    // messages.
    expect(second.events[0]).toMatchObject({ kind: 'SNAPSHOT', messages: [{ topic: 'a/kept', payload: 'k' }] });
    const short = await beganTail(world, 'a/#', { bytes: 0, rate: 5 });
    await short.until(() => short.messages().length === 1);
    const overlapping = await beganTail(world, 'a/+');
    await overlapping.until(() => overlapping.messages().length === 1);
    await expect.poll(async () => (await observedFilters(world))?.toSorted()).toEqual(['a/#', 'a/+']);

    for (let number = 0; number < 200; number += 1) await publisher.publishAsync('a/b', String(number), { qos: 1 });
    const sum = (told: typeof first) => told.messages().length + told.leftOut();
    for (const told of [first, short, overlapping]) await told.until(() => sum(told) >= 201);
    await second.until(() => sum(second) >= 200);
    for (const told of [first, short, overlapping]) expect(sum(told)).toBe(201);
    expect(second.messages().map(({ payload }) => payload)).toEqual(
      first
        .messages()
        .slice(1)
        .map(({ payload }) => payload),
    );
    // Five at once, five each second.
    expect(short.messages().length).toBeLessThan(60);
    expect(short.messages().at(-1)).toMatchObject({ payload: '', payloadBase64: '', isTruncated: true });
    expect(first.messages().length).toBeGreaterThanOrEqual(100);
  });

  test(`a subscriber that reconnects to ${kind} continues after the last event`, async () => {
    const world = await messageWorld(kind);
    const { publisher } = world;
    const first = await beganTail(world, 'a');
    await publisher.publishAsync('a', '1');
    const { sequence } = await first.until(() => first.messages().length === 1);
    first.end();
    await first.closed;
    await publisher.publishAsync('a', '2', { qos: 1 });
    const again = await beganTail(world, 'a', { after: sequence });
    expect(again.events).toMatchObject([{ kind: 'RESUMED', sequence, messages: [], leftOut: 0, isConnected: null }]);
    await again.until(() => again.messages().length === 1);
    expect(again.messages()).toMatchObject([{ payload: '2' }]);
    const unknown = await beganTail(world, 'a', { after: 1 });
    expect(unknown.events).toMatchObject([{ kind: 'SNAPSHOT', messages: [{ payload: '1' }, { payload: '2' }] }]);
  });
}

test('$SYS messages are sent, over SSE as well', async () => {
  const { service, brokerId } = await messageWorld('Mosquitto');
  const client = createSseClient({
    url: `${service.url}/graphql`,
    headers: { authorization: `Bearer ${service.root}` },
    retryAttempts: 0,
  });
  onTestFinished(() => client.dispose());
  const events = client.iterate({ query: MESSAGES, variables: { b: brokerId, f: '$SYS/broker/version' } });
  expect((await events.next()).value).toMatchObject({ data: { messages: { kind: 'SNAPSHOT', messages: [] } } });
  const { value } = await events.next();
  expect(value).toMatchObject({
    data: { messages: { kind: 'CHANGE', messages: [{ topic: '$SYS/broker/version', retain: true }] } },
  });
});

test('a tail outlives its connection, and reports that messages were missed', async () => {
  const world = await messageWorld('Mosquitto');
  const { service, brokerId, mosquitto, publisher } = world;
  const told = await beganTail(world, 'a');
  await publisher.publishAsync('a', '1');
  await told.until(() => told.messages().length === 1);
  await mosquitto?.stop();
  await told.until(({ isConnected }) => isConnected === false);
  expect(await refusal(beganTail(world, 'b'))).toMatchObject({ code: 'BROKER_UNREACHABLE' });
  await mosquitto?.start();
  await told.until(({ isConnected }) => isConnected === true);
  await (await world.client()).publishAsync('a', '2', { qos: 1 });
  await told.until(() => told.messages().length === 2);

  // Other settings cause a reconnect.
  await service.services.brokers.update(brokerId, { password: 'wrong' });
  await told.until(({ isConnected }) => isConnected === false);
  await service.services.brokers.update(brokerId, { password: 'correct horse' });
  await told.until(({ isConnected }) => isConnected === true);
  await (await world.client()).publishAsync('a', '3', { qos: 1 });
  await told.until(() => told.messages().length === 3);
  expect(told.messages().map(({ payload }) => payload)).toEqual(['1', '2', '3']);
  expect(told.events.every(({ kind }, index) => kind === (index === 0 ? 'SNAPSHOT' : 'CHANGE'))).toBe(true);

  await service.services.brokers.remove(brokerId);
  expect(await refusal(told.until(() => false))).toMatchObject({ code: 'NOT_FOUND' });
});

test('the observing connection to an embedded broker exists while there is a subscriber', async () => {
  const world = await messageWorld('the embedded broker');
  expect(await observedFilters(world)).toBeNull();
  const told = tail(world, 'a');
  await told.until(() => true);
  expect(await observedFilters(world)).toEqual(['a']);
});
