import { expect, onTestFinished, test, vi } from 'vitest';
import { EmbeddedTopicRecorder } from '../../../../src/data-plane/broker/topics/embedded-topic-recorder.ts';
import { SubscribedFilters } from '../../../../src/data-plane/broker/topics/subscribed-filters.ts';
import { DEFAULT_TOPIC_SETTINGS, idleMs } from '../../../../src/data-plane/topic-tree/model/topic-settings.ts';
import { runInSlices } from '../../../../src/platform/scheduling/sliced-task.ts';
import { connect } from '../embedded.ts';
import { startTappedCore } from '../tapped-core.ts';

type Tapped = Awaited<ReturnType<typeof startTappedCore>>;

const partsOf = ({ core, registry, store }: Tapped) => ({ core, registry, store, ownClientIds: 'own-' });

function startRecorder(tapped: Tapped) {
  const problems: string[] = [];
  const onProblem = (problem: string) => problems.push(problem);
  const recorder = new EmbeddedTopicRecorder({ ...partsOf(tapped), maxBytes: 64 * 1_048_576, onProblem });
  onTestFinished(() => recorder.close());
  const names = async () =>
    (await recorder.query('find', { kind: 'PUBLISHED', first: 10 })).topics.map(({ topic }) => topic);
  const isRecording = () => tapped.core.tap.watcher !== null && tapped.store.subscriptions.listener !== null;
  return { recorder, problems, names, isRecording };
}

test('recording starts with the first query, and stops when there are no queries for a while', async () => {
  const tapped = await startTappedCore();
  const { core } = tapped;
  const { recorder, names, isRecording } = startRecorder(tapped);
  await recorder.apply({ ...DEFAULT_TOPIC_SETTINGS, ttlSeconds: 400 });
  await core.publisher.publish('early', '1');
  expect(isRecording()).toBe(false);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { since, state } = await recorder.query('status', {});
  expect([state, isRecording()]).toEqual(['RECORDING', true]);
  await core.publisher.publish('asked', '1');
  const idle = idleMs({ ttlSeconds: 400 });
  vi.advanceTimersByTime(idle - 1);
  expect(await names()).toEqual(['asked']);
  vi.advanceTimersByTime(idle - 1);
  expect(isRecording()).toBe(true);
  vi.advanceTimersByTime(1);
  expect(isRecording()).toBe(false);
  await core.publisher.publish('unasked', '1');
  expect(await names()).toEqual([]);
  expect((await recorder.query('status', {})).since).toBeGreaterThanOrEqual(since ?? 0);

  await recorder.apply({ ...DEFAULT_TOPIC_SETTINGS, isAlwaysOn: true });
  vi.advanceTimersByTime(10 * idle);
  expect(isRecording()).toBe(true);
  await recorder.apply(DEFAULT_TOPIC_SETTINGS);
  vi.advanceTimersByTime(idleMs(DEFAULT_TOPIC_SETTINGS));
  expect(isRecording()).toBe(false);
  await recorder.close();
  await expect(recorder.query('status', {})).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
});

test('a bug in the recording affects no message: it is reported, and the recording starts again', async () => {
  const tapped = await startTappedCore();
  const { core } = tapped;
  const { problems, names, isRecording } = startRecorder(tapped);
  expect(await names()).toEqual([]);
  // No topic that the types know.
  expect(core.tap.take({ topic: null as never, payload: '', qos: 0, retain: false }, true)).toBe(null);
  expect(problems).toHaveLength(1);
  expect(isRecording()).toBe(false);
  expect(await names()).toEqual([]);
  await core.publisher.publish('after', '1');
  expect(await names()).toEqual(['after']);
});

test('the counted filters equal those of sessions and clients, whatever clients do during the scan', async () => {
  const tapped = await startTappedCore();
  const { port, store, registry } = tapped;
  let state = 11;
  const below = (limit: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % limit;
  };
  const clients = new Map<string, Awaited<ReturnType<typeof connect>>>();
  const step = async () => {
    const clientId = `client ${below(6)}`;
    const filters = [...new Set(Array.from({ length: 1 + below(3) }, () => `filter/${below(8)}`))];
    const client = clients.get(clientId);
    switch (below(client ? 6 : 1)) {
      case 0: {
        // Taken over where it is connected.
        const clean = below(2) === 0;
        const session = { sessionExpiryInterval: below(2) * 3_600 };
        const version = below(2) === 0 ? ({ protocolVersion: 5, properties: session } as const) : {};
        clients.set(clientId, await connect(port, { clientId, clean, ...version }));
        return;
      }
      case 1:
        clients.delete(clientId);
        await (below(2) === 0 ? client?.endAsync() : client?.endAsync(true));
        return;
      case 2:
        await client?.unsubscribeAsync(filters);
        return;
      default:
        await client?.subscribeAsync(filters, { qos: below(3) as 0 | 1 | 2 });
    }
  };
  for (let count = 0; count < 40; count += 1) await step();

  const released: string[] = [];
  const used = new Set<string>();
  const held = new SubscribedFilters({
    ...partsOf(tapped),
    onUse: (filter) => void used.add(filter),
    onRelease: (filter) => void released.push(filter),
  });
  // As slowly as clients are quick, so that they are between those that were looked at and the others.
  const looks = held.scan();
  const unfinished = held.scan();
  for (let count = 0; count < 60; count += 1) {
    await step();
    looks.next();
  }
  await runInSlices(looks);
  for (let count = 0; count < 60; count += 1) await step();

  const expected = new Set<string>();
  const all = [...clients.keys()].map((clientId) => registry.connection(clientId));
  for (const connection of all) {
    for (const filter of connection?.holder.subscriptions.keys() ?? []) expected.add(filter);
  }
  for (const session of store.sessions.all()) for (const filter of session.subscriptions.keys()) expected.add(filter);
  expect(expected.size).toBeGreaterThan(0);
  const filters = Array.from(held.all(), ([filter]) => filter);
  expect(new Set(filters)).toEqual(expected);
  for (const filter of filters) expect([filter, held.has(filter), used.has(filter)]).toEqual([filter, true, true]);

  // Each count was right: with the last of its holders each filter is released, once.
  released.length = 0;
  for (const client of clients.values()) await client.endAsync(true);
  for (const connection of all) await connection?.whenClosed();
  for (const { id } of [...store.sessions.all()]) store.endSession(id);
  expect(released.sort()).toEqual([...expected].sort());
  expect([...held.all()]).toEqual([]);
  held.close();
  await (await connect(port, { clientId: 'late', clean: false })).subscribeAsync('late');
  for (const _step of unfinished) expect.unreachable();
  expect([...held.all()]).toEqual([]);
});
