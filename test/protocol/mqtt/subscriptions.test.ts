import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { Subscriptions } from '../../../src/protocol/mqtt/subscriptions.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const LINKS = 500;
const FILTERS = Array.from({ length: 18 }, (_, nth) => `$SYS/broker/part-${nth}/#`);
/** With a tree of the filters and a closure for each, a filter took 1,200 bytes. */
const MAX_FILTER_BYTES = 700;

test('the filters of a link with MQTT 5 take little memory', () => {
  const listener = () => undefined;
  const subscribed = () => {
    const subscriptions = new Subscriptions(() => undefined);
    for (const filter of FILTERS) subscriptions.renumber(subscriptions.add(filter, listener, {})[0], false);
    return subscriptions;
  };
  const links = [subscribed()];
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let link = 0; link < LINKS; link += 1) links.push(subscribed());
  collectGarbage();
  const bytes = (process.memoryUsage().heapUsed - before) / LINKS / FILTERS.length;
  expect(links.length).toBeGreaterThan(LINKS);
  expect(bytes).toBeLessThan(MAX_FILTER_BYTES);
});

test('messages without an identifier reach filters that were subscribed before and after the first of them', () => {
  const subscriptions = new Subscriptions(() => undefined);
  const received: string[] = [];
  const add = (filter: string) => subscriptions.add(filter, () => void received.push(filter), {});
  const dispatch = (topic: string) =>
    subscriptions.dispatch({ topic, payload: new Uint8Array(), retain: false } as never, undefined);
  const [shared, subscriber] = add('a/+');
  dispatch('a/b');
  add('a/#');
  dispatch('a/b');
  subscriptions.remove(shared, subscriber);
  dispatch('a/b');
  expect(received).toEqual(['a/+', 'a/#', 'a/+', 'a/#']);
});
