import { expect, test } from 'vitest';
import { Broadcast } from '../../../src/gateway/live/broadcast.ts';
import { type SeenFeed, SeenFeeds } from '../../../src/gateway/live/seen-feeds.ts';

test('who sees all, some or nothing of a project follows that alone; feeds that nobody watches go when another one is made', async () => {
  type Feed = SeenFeed<string, string> & { readonly sees: string };
  const feeds = new SeenFeeds<Feed>((projectId, only) => {
    const sees = `${projectId} ${only === null ? 'all' : [...only].sort().join()}`;
    return { sees, broadcast: new Broadcast<string, string>(() => sees) };
  });
  const all = feeds.of('p', null);
  const source = all.broadcast.subscribe({});
  const some = feeds.of('p', new Set(['b', 'a']));
  const stays = some.broadcast.subscribe({});
  // Somebody whose brokers were all removed must not follow what others see.
  const nothing = feeds.of('p', new Set());
  expect([all.sees, some.sees, nothing.sees]).toEqual(['p all', 'p a,b', 'p ']);
  expect(feeds.of('p', new Set(['a', 'b']))).toBe(some);
  expect([...feeds.seeing('p', 'a')]).toEqual([all, some]);
  expect([...feeds.seeing('p', 'c')]).toEqual([all]);
  expect([...feeds.seeing('other', 'a')]).toEqual([]);
  await stays.return();
  feeds.of('other', null);
  expect(feeds.of('p', null)).toBe(all);
  expect(feeds.of('p', new Set(['a', 'b']))).not.toBe(some);
  feeds.drop(all);
  expect(feeds.of('p', null)).not.toBe(all);
  await source.return();
});
