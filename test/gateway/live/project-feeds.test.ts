import { expect, test } from 'vitest';
import { Broadcast } from '../../../src/gateway/live/broadcast.ts';
import { type ProjectFeed, ProjectFeeds } from '../../../src/gateway/live/project-feeds.ts';

test('callers with the same visible objects share a feed, and feeds without subscribers are evicted', async () => {
  type Feed = ProjectFeed<string, string> & { readonly visible: string };
  const feeds = new ProjectFeeds<Feed>((projectId, only) => {
    const visible = `${projectId} ${only === null ? 'all' : [...only].sort().join()}`;
    return { visible, broadcast: new Broadcast<string, string>(() => visible) };
  });
  const all = feeds.of('p', null);
  const source = all.broadcast.subscribe({});
  const some = feeds.of('p', new Set(['b', 'a']));
  const stays = some.broadcast.subscribe({});
  // A caller whose brokers were all removed must not get the feed of other callers.
  const nothing = feeds.of('p', new Set());
  expect([all.visible, some.visible, nothing.visible]).toEqual(['p all', 'p a,b', 'p ']);
  expect(feeds.of('p', new Set(['a', 'b']))).toBe(some);
  expect([...feeds.containing('p', 'a')]).toEqual([all, some]);
  expect([...feeds.containing('p', 'c')]).toEqual([all]);
  expect([...feeds.containing('other', 'a')]).toEqual([]);
  await stays.return();
  feeds.of('other', null);
  expect(feeds.of('p', null)).toBe(all);
  expect(feeds.of('p', new Set(['a', 'b']))).not.toBe(some);
  feeds.evict(all);
  expect(feeds.of('p', null)).not.toBe(all);
  await source.return();
});
