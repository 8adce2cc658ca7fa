import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  ClientFeeds,
  type ClientSelection,
  MAX_SELECTIONS,
} from '../../../../src/domains/clients/inspect/client-feeds.ts';
import type { ClientListState } from '../../../../src/domains/clients/inspect/client-listing.ts';
import { SortedClients } from '../../../../src/domains/clients/inspect/sorted-clients.ts';
import { ServiceError } from '../../../../src/platform/errors.ts';
import type { ConnectedClientSummary } from '../../../../src/protocol/apis/clients/inspect-data.ts';

const STATE: ClientListState = {
  asOf: 0,
  source: 'BROKER',
  complete: true,
  incompleteReason: null,
  since: null,
  isFollowed: true,
};

const client = fc.record({
  clientid: fc.constantFrom('a', 'ab', 'b', 'ba', 'c'),
  username: fc.constantFrom('a', 'u', 'v'),
  connected: fc.boolean(),
  protocol: fc.constantFrom('MQTT', 'MQTT-WS', undefined),
}) as fc.Arbitrary<ConnectedClientSummary>;
const step = fc.record({
  changed: fc.uniqueArray(client, { selector: ({ clientid }) => clientid }),
  removed: fc.uniqueArray(fc.constantFrom('a', 'b', 'x')),
});
const selection = fc.record(
  {
    value: fc.constantFrom('', 'a', 'b', 'u'),
    mode: fc.constantFrom('contains', 'equals', 'startsWith', 'endsWith'),
    connected: fc.boolean(),
    username: fc.constantFrom('a', 'u'),
    protocol: fc.constantFrom('MQTT', 'MQTT-WS'),
    clientIds: fc.array(fc.constantFrom('a', 'ab', 'x')),
    form: fc.constantFrom('CLIENTS', 'COUNTS'),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<ClientSelection>;

/** Whether no client of unknown protocol matches the other conditions. */
const isDecided = (clients: SortedClients, { protocol, form: _form, ...others }: ClientSelection): boolean =>
  protocol === undefined || clients.matching(others).every((entry) => entry.protocol !== undefined);

test('the events of any selection add up to the matching clients and their counts, without empty changes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step), selection, fc.array(step, { minLength: 1 }), async (earlier, selected, later) => {
      const clients = new SortedClients();
      const feeds = new ClientFeeds(clients, () => STATE);
      const run = ({ changed, removed }: (typeof earlier)[number]) => {
        const remaining = removed.filter((id) => !changed.some(({ clientid }) => clientid === id));
        const difference = clients.apply({ changed, removed: remaining });
        if (difference.changed.length + difference.removed.length > 0) feeds.publish(difference);
      };
      earlier.forEach(run);
      const source = feeds.subscribe(selected, {});
      const followed = new Map<string, ConnectedClientSummary>();
      const first = source.take();
      if (first?.kind !== 'SNAPSHOT') throw new Error('The first event is no snapshot');
      expect(first.snapshot.complete).toBe(isDecided(clients, selected));
      const isCounts = selected.form === 'COUNTS';
      if (isCounts) expect(first.snapshot.clients).toEqual([]);
      for (const entry of isCounts ? clients.matching(selected) : first.snapshot.clients) {
        followed.set(entry.clientid, entry);
      }
      let { counts, complete } = first.snapshot;
      for (const each of later) {
        run(each);
        for (let event = source.take(); event !== null; event = source.take()) {
          if (event.kind !== 'CHANGE') throw new Error(event.kind);
          const { changed, removed } = event.change;
          if (event.change.complete === complete) expect(changed.length + removed.length).toBeGreaterThan(0);
          complete = event.change.complete;
          for (const id of removed) expect(followed.delete(id)).toBe(true);
          for (const entry of changed) followed.set(entry.clientid, entry);
          counts = event.change.counts;
        }
        const expected = clients.matching(selected);
        expect([...followed.values()].sort((a, b) => (a.clientid < b.clientid ? -1 : 1))).toEqual(expected);
        const connected = expected.filter((entry) => entry.connected).length;
        expect(counts).toEqual({ total: expected.length, connected });
        expect(complete).toBe(isDecided(clients, selected));
        const now = feeds.subscribe(selected, {}).take();
        expect(now).toMatchObject({ kind: 'SNAPSHOT', snapshot: { complete: isDecided(clients, selected), counts } });
      }
    }),
  );
});

test('the number of different selections is limited, and selections without subscribers make room', async () => {
  const feeds = new ClientFeeds(new SortedClients(), () => STATE);
  const sources = Array.from({ length: MAX_SELECTIONS }, (_, n) => feeds.subscribe({ clientIds: [`c${n}`] }, {}));
  const refused = () => feeds.subscribe({ value: 'x' }, {});
  expect(refused).toThrow(ServiceError);
  expect(refused).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }));
  // Equal selections share a feed, and all clients are never refused.
  feeds.subscribe({ clientIds: ['c1', 'c1'] }, {});
  feeds.subscribe({ value: '' }, {});
  await sources[0]?.return();
  expect(refused()).toBeDefined();
});

test('a change of very many clients replaces the events of selections by a new snapshot', () => {
  const clients = new SortedClients();
  const feeds = new ClientFeeds(clients, () => STATE);
  const selected = Array.from({ length: 100 }, (_, n) => feeds.subscribe({ clientIds: [`c${n}`] }, {}));
  for (const source of selected) expect(source.take()?.kind).toBe('SNAPSHOT');
  const many = (count: number, username: string) =>
    Array.from({ length: count }, (_, n) => ({ clientid: `c${n}`, username, connected: true }));
  feeds.publish(clients.apply({ changed: many(2_000, 'u'), removed: [] }));
  for (const source of selected) expect(source.take()?.kind).toBe('CHANGE');
  feeds.publish(clients.apply({ changed: many(2_001, 'v'), removed: [] }));
  for (const source of selected) {
    expect(source.take()?.kind).toBe('GAP');
    const event = source.take();
    if (event?.kind !== 'SNAPSHOT') throw new Error('A snapshot must follow a gap');
    expect(event.snapshot.clients.map(({ username }) => username)).toEqual(['v']);
    expect(event.snapshot.counts).toEqual({ total: 1, connected: 1 });
  }
});
