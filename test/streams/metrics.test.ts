import { expect, test } from 'vitest';
import { StreamSums } from '../../src/streams/stream-totals.ts';
import { streamWorld } from './stream-world.ts';

test('sums of the streams of a broker are scraped, and do not fall when a stream is deleted', async () => {
  const { service, brokerId, change, client } = await streamWorld('the embedded broker');
  const scraped = async (name: string) => {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    return new RegExp(`^brokergraph_${name}\\{broker="${brokerId}".*\\} (\\d+)$`, 'm').exec(text)?.[1];
  };
  expect(await scraped('stream_messages_received_total')).toBeUndefined();
  const device = await client();
  await change('createStream', { name: 'a', sourceTopic: 'in', persist: true });
  await change('createStream', { name: 'b', sourceTopic: 'in', targetTopic: 'out' });
  await device.publishAsync('in', 'no JSON', { qos: 1 });
  await device.publishAsync('in', '{}', { qos: 1 });
  await expect.poll(() => scraped('stream_messages_received_total')).toBe('4');
  expect([await scraped('stream_messages_failed_total'), await scraped('stream_messages_stored_total')]).toEqual([
    '2',
    '1',
  ]);
  expect([await scraped('stream_messages_not_stored_total'), await scraped('streams')]).toEqual(['0', '2']);
  expect(Number(await scraped('stream_stored_bytes'))).toBeGreaterThan(0);
  await change('deleteStream', { name: 'a' });
  await expect.poll(() => scraped('streams')).toBe('1');
  expect(await scraped('stream_messages_received_total')).toBe('4');
});

test('a run that began anew is counted from its beginning', () => {
  const sums = new StreamSums();
  const entry = (received: number, since: number) => {
    const rest = { published: 0, stored: 0, filtered: 0, failed: 0, notStored: 0, replayed: 0 };
    const storage = { state: 'OFF', messages: 0, bytes: 7, oldest: null, newest: null, problem: null } as const;
    const counters = { since, received, ...rest, lastReceived: null, lastError: null, lastFiltered: null };
    const report = { state: 'RUNNING', problem: null, counters, storage, replay: null } as const;
    const definition = {
      name: 's',
      sourceTopic: 'in',
      targetTopic: null,
      targetQos: -1,
      ttl: 0,
      active: true,
    } as const;
    const settings = { process: true, persist: false, key: null, query: {}, textName: null, textDescription: null };
    return { definition: { ...definition, ...settings }, replaying: false, report };
  };
  const received: number[] = [];
  for (const entries of [[entry(5, 1)], [entry(9, 1)], [entry(3, 2)], [], [entry(4, 2)]]) {
    sums.take(entries);
    received.push(sums.totals.counted.received);
  }
  expect(received).toEqual([5, 9, 12, 12, 16]);
  sums.take([{ ...entry(100, 1), report: null }]);
  expect(sums.totals).toMatchObject({ counted: { received: 16 }, states: new Map(), storedBytes: 0 });
});
