import fc from 'fast-check';
import { expect, test } from 'vitest';
import { listedBacklog } from '../../../../src/domains/clients/inspect/client-backlogs.ts';
import {
  CLIENT_SORT_FIELDS,
  type ClientOrder,
  type PageOfOrder,
  pageInOrder,
} from '../../../../src/domains/clients/inspect/client-order.ts';
import { SortedClients } from '../../../../src/domains/clients/inspect/sorted-clients.ts';
import { runSync } from '../../../../src/platform/scheduling/sliced-task.ts';
import type { ConnectedClientSummary } from '../../../../src/protocol/apis/clients/inspect-data.ts';
import { busyMs } from '../../../support/busy-time.ts';

const client = fc.record({
  clientid: fc.constantFrom('a', 'b', 'B', 'c 1', 'c 2', 'é', ''),
  username: fc.constantFrom('<anonymous>', 'u', 'v'),
  queues: fc.option(fc.record({ messagesOut: fc.nat(2) }), { nil: undefined }),
}) as fc.Arbitrary<ConnectedClientSummary>;
const step = fc.record({
  changed: fc.uniqueArray(client, { selector: ({ clientid }) => clientid }),
  removed: fc.array(fc.constantFrom('a', 'b', 'x')),
});

const withoutCounts = (clients: Iterable<ConnectedClientSummary>) =>
  Array.from(clients, ({ queues, ...client }) => ({ ...client, isCounted: queues !== undefined }));

test('after any changes the list is sorted, and the differences add up to it; queues alone make no difference', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(step, fc.boolean())), (steps) => {
      const clients = new SortedClients();
      const truth = new Map<string, ConnectedClientSummary>();
      const followed = new Map<string, ConnectedClientSummary>();
      for (const [{ changed, removed }, whole] of steps) {
        const gone = removed.filter((id) => !changed.some(({ clientid }) => clientid === id));
        if (whole) truth.clear();
        for (const id of gone) truth.delete(id);
        for (const entry of changed) truth.set(entry.clientid, entry);
        const difference = whole ? clients.replace(changed) : clients.apply({ changed, removed: gone });
        for (const id of difference.removed) expect(followed.delete(id)).toBe(true);
        for (const entry of difference.changed) {
          const [now] = withoutCounts([entry]);
          const before = followed.get(entry.clientid);
          expect(before && withoutCounts([before])[0]).not.toEqual(now);
          followed.set(entry.clientid, entry);
        }
        const expected = [...truth.values()].sort((a, b) => (a.clientid < b.clientid ? -1 : 1));
        expect(clients.all()).toEqual(expected);
        const told = [...followed.values()].sort((a, b) => (a.clientid < b.clientid ? -1 : 1));
        expect(withoutCounts(told)).toEqual(withoutCounts(expected));
        expect(clients.matching({ value: 'c', mode: 'startsWith' })).toEqual(
          expected.filter(({ clientid }) => clientid.startsWith('c')),
        );
      }
    }),
  );
});

const sorted = fc.record(
  {
    clientid: fc.string({ minLength: 1, maxLength: 3 }),
    username: fc.constantFrom('<anonymous>', 'u', 'v'),
    lastConnect: fc.nat(3),
    address: fc.constantFrom('10.0.0.2', '10.0.0.10', '::1', 'not an address'),
    queues: fc.record({ messagesOut: fc.nat(2) }, { requiredKeys: [] }),
  },
  { requiredKeys: ['clientid', 'username'] },
) as fc.Arbitrary<ConnectedClientSummary>;

test('pages in any order add up to the whole list, with unknown values last', () => {
  const lists = fc.uniqueArray(sorted, { selector: ({ clientid }) => clientid, maxLength: 300 });
  const order = fc.record({ field: fc.constantFrom(...CLIENT_SORT_FIELDS), direction: fc.constantFrom('asc', 'desc') });
  fc.assert(
    fc.property(lists, order, fc.integer({ min: 1, max: 70 }), (list, by, count) => {
      const read = (page: PageOfOrder) => runSync(pageInOrder(list, by as ClientOrder, page, listedBacklog));
      const whole = read({});
      expect(whole.clients).toHaveLength(list.length);
      const pages: ConnectedClientSummary[] = [];
      for (let after: string | undefined; pages.length < list.length; ) {
        const page = read({ count, after });
        expect(page).toMatchObject({ totalCount: list.length, offset: pages.length });
        pages.push(...page.clients);
        after = page.cursorOf(page.clients.at(-1) as ConnectedClientSummary);
      }
      expect(pages).toEqual(whole.clients);
      if (by.field !== 'CONNECTED_AT') return;
      const times = whole.clients.map(({ lastConnect }) => lastConnect);
      const known = times.filter((time) => time !== undefined).sort((a, b) => (by.direction === 'asc' ? a - b : b - a));
      expect(times).toEqual([...known, ...Array(times.length - known.length).fill(undefined)]);
    }),
  );
});

test('a page of a filtered list of 100,000 clients takes milliseconds, and the next page almost no time', () => {
  const clients = new SortedClients();
  const entries = Array.from({ length: 100_000 }, (_, n) => ({
    clientid: `device-${n}`,
    username: `user-${n % 1_000}`,
    connected: true,
  }));
  clients.replace(entries);
  const times = (work: () => unknown) => {
    const from = busyMs();
    work();
    return busyMs() - from;
  };
  const first = times(() => expect(clients.matching({ value: 'user-77', mode: 'contains' })).toHaveLength(1_100));
  const again = times(() => clients.matching({ value: 'user-77', mode: 'contains' }).slice(50, 100));
  const change = times(() =>
    clients.apply({ changed: [{ clientid: 'device-5x', username: 'u' }], removed: ['device-9'] }),
  );
  // Generous, since the collector may come in between; it is about 10, 0.01 and 0.2.
  expect(first).toBeLessThan(500);
  expect(again).toBeLessThan(100);
  expect(change).toBeLessThan(200);
});
