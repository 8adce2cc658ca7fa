import { expect, test } from 'vitest';
import { startMosquitto } from '../../support/mosquitto.ts';
import { subscribe } from '../../support/subscription.ts';
import { heardOn, KINDS, mosquittoWorld, streamWorld } from './stream-world.ts';

const REPLAY = `subscription ($b: ID!, $after: SafeInt) {
  streamReplay(brokerId: $b, streamName: "s", after: $after) {
    kind sequence isReplaying isConnected missed replay { state published total position endedAt problem }
  }
}`;
const STREAMS = `subscription ($b: ID!) {
  streams(brokerId: $b) {
    kind sequence partsLeft isConnected removed
    streams { id name state provider broker { id } counters { received } storage { messages } }
  }
}`;

test.each(KINDS)('the replay of a stream on %s is reported from start to end', async (kind) => {
  const { service, brokerId, change, client, follow } = await streamWorld(kind);
  await change('createStream', { name: 's', sourceTopic: 'in', persist: true });
  const device = await client();
  const begun = follow(STREAMS);
  await begun.until(({ streams }) => streams.streams[0]?.state === 'RUNNING');
  await Promise.all(Array.from({ length: 200 }, (_, i) => device.publishAsync('in', `{"i":${i}}`, { qos: 1 })));

  const replays = follow(REPLAY);
  const { streamReplay: first } = await replays.until(() => true);
  expect(first).toMatchObject({ kind: 'SNAPSHOT', isReplaying: false, replay: null, isConnected: true });
  const { until } = await heardOn(await client(), 'out');
  await change('replayStream', { name: 's', topic: 'out', fastest: true });
  await until(200);
  const { streamReplay: done } = await replays.until(({ streamReplay }) => streamReplay.replay?.state === 'DONE');
  expect(done).toMatchObject({
    kind: 'CHANGE',
    isReplaying: false,
    replay: { published: 200, total: 200, position: expect.any(String), endedAt: expect.any(String), problem: null },
  });
  // Who comes later goes on where it was, or hears what there was last.
  const later = follow(REPLAY, { after: done.sequence });
  expect((await later.until(() => true)).streamReplay).toMatchObject({ kind: 'RESUMED', sequence: done.sequence });

  // At the original speed it would take too long for a test, so it is stopped.
  await change('replayStream', { name: 's', topic: 'out', speed: 0.01 });
  await later.until(({ streamReplay }) => streamReplay.isReplaying && streamReplay.replay.state === 'RUNNING');
  await change('stopStreamReplay', { name: 's' });
  const { streamReplay: stopped } = await later.until(({ streamReplay }) => streamReplay.replay?.state === 'STOPPED');
  expect(stopped.replay.published).toBeLessThan(200);

  const all = follow(STREAMS);
  const { streams: snapshot } = await all.until(() => true);
  expect(snapshot).toMatchObject({
    kind: 'SNAPSHOT',
    partsLeft: 0,
    isConnected: true,
    streams: [{ name: 's', counters: { received: 200 }, broker: { id: brokerId } }],
  });
  await device.publishAsync('in', '{}', { qos: 1 });
  await all.until(({ streams }) => streams.streams[0]?.counters.received === 201);
  await change('createStream', { name: 't', sourceTopic: 'other' });
  await all.until(({ streams }) => streams.streams.some(({ name }: { name: string }) => name === 't'));

  // A user who may no longer see the broker gets no further events.
  const { token, email } = await service.person('VIEWER');
  const watched = subscribe(service, token, STREAMS, { b: brokerId });
  await watched.until(() => true);
  const ended = expect(watched.until(() => false)).rejects.toThrow('NOT_ALLOWED');
  const remove =
    'mutation ($p: ID!, $e: String!) { removeProjectMember(input: { projectId: $p, email: $e }) { __typename } }';
  expect((await service.graphql(remove, { p: service.projectId, e: email })).errors).toBeUndefined();
  await ended;

  const over = expect(later.until(() => false)).rejects.toThrow('ended');
  await change('deleteStream', { name: 's' });
  await over;
  await all.until(({ streams }) => streams.removed.includes('s'));
  const none = await follow(REPLAY)
    .until(() => true)
    .catch((errors: unknown) => errors);
  expect(none).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }]);
});

test('streams of a Mosquitto are returned and changed while it is not connected', async () => {
  const mosquitto = await startMosquitto({ access: 'passwords' });
  const { change, follow, graph, client } = await mosquittoWorld(mosquitto);
  await change('createStream', { name: 's', sourceTopic: 'in', targetTopic: 'out', persist: true });
  const all = follow(STREAMS);
  await all.until(({ streams }) => streams.streams[0]?.state === 'RUNNING');
  const replays = follow(REPLAY);
  await replays.until(() => true);

  await mosquitto.kill();
  await all.until(({ streams }) => streams.isConnected === false);
  await replays.until(({ streamReplay }) => streamReplay.isConnected === false);
  await all.until(({ streams }) => streams.streams[0]?.state === 'WAITING');
  const list = 'query ($b: ID!) { broker(id: $b) { streams { nodes { name state storage { messages } } } } }';
  expect((await graph(list)).broker.streams.nodes).toEqual([{ name: 's', state: 'WAITING', storage: { messages: 0 } }]);
  await change('updateStream', { name: 's', textName: 'while away' });

  await mosquitto.start();
  await all.until(({ streams }) => streams.isConnected === true);
  await replays.until(({ streamReplay }) => streamReplay.isConnected === true);
  await expect.poll(async () => (await graph(list)).broker.streams.nodes[0].state).toBe('RUNNING');
  const { until } = await heardOn(await client(), 'out');
  await (await client()).publishAsync('in', '{"a":1}', { qos: 1 });
  expect((await until(1))[0]).toMatchObject({ topic: 'out', text: '{"a":1}' });
});
