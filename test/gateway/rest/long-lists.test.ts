import { expect, test } from 'vitest';
import { type FetchPage, longLists } from '../../../src/gateway/rest/long-lists.ts';

const SHAPE = { key: 'topics', within: ['published', 'subscribed'], pageSize: 3, wanted: Number.POSITIVE_INFINITY };

/** A list whose first page is in a body. */
const first = (all: readonly string[], size = 3) => ({
  count: all.length,
  topics: all.slice(0, size),
  pageInfo: { hasNextPage: all.length > size, endCursor: all[size - 1] ?? null },
});
const numbers = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name}"\\\0${at}`);

const LISTS: Readonly<Record<string, readonly string[]>> = {
  '1 published': numbers('a', 8),
  '1 subscribed': numbers('b', 2),
  '2 published': numbers('c', 3),
  '2 subscribed': numbers('d', 4),
};

const bodyOf = (node: number) => ({
  node,
  published: first(LISTS[`${node} published`] ?? []),
  subscribed: first(LISTS[`${node} subscribed`] ?? []),
  truncated: false,
});

function asker() {
  const asked: string[] = [];
  const fetchPage: FetchPage = async ({ within, entry }, size, after) => {
    const name = `${entry.node} ${within}`;
    asked.push(`${name} ${size}`);
    const all = LISTS[name] ?? [];
    const start = all.indexOf(after ?? '') + 1;
    const topics = all.slice(start, start + size);
    return { topics, pageInfo: { hasNextPage: start + size < all.length, endCursor: topics.at(-1) } };
  };
  return { asked, fetchPage };
}

async function written(body: unknown, fetchPage: FetchPage, wanted = SHAPE.wanted): Promise<unknown> {
  const pieces = longLists(body, { ...SHAPE, wanted });
  if (pieces === null) return JSON.parse(JSON.stringify(body));
  let text = '';
  for await (const piece of pieces(fetchPage)) text += piece;
  return JSON.parse(text);
}

const whole = (node: number, most = Number.POSITIVE_INFINITY) => {
  const part = (name: string) => {
    const all = LISTS[`${node} ${name}`] ?? [];
    return { count: all.length, topics: all.slice(0, most) };
  };
  return { node, published: part('published'), subscribed: part('subscribed'), truncated: false };
};

test('lists in an object, and in each of several objects, are read page by page', async () => {
  const { asked, fetchPage } = asker();
  expect(await written(bodyOf(1), fetchPage)).toEqual(whole(1));
  expect(asked).toEqual(['1 published 3', '1 published 3']);
  expect(await written([bodyOf(1), bodyOf(2)], fetchPage)).toEqual([whole(1), whole(2)]);
  expect(asked.slice(2)).toEqual(['1 published 3', '1 published 3', '2 subscribed 3']);
});

test('all wanted entries are returned, even if a page is shorter than requested', async () => {
  const { asked, fetchPage } = asker();
  expect(await written(bodyOf(1), fetchPage, 4)).toEqual(whole(1, 4));
  expect(asked).toEqual(['1 published 1']);
  const short = { ...bodyOf(1), published: first(LISTS['1 published'] ?? [], 1) };
  expect(await written(short, fetchPage, 3)).toEqual(whole(1, 3));
  expect(asked.slice(1)).toEqual(['1 published 2']);
});

test('a body with complete lists is written as a whole, without pageInfo', () => {
  const body = { node: 3, published: first(['x']), subscribed: null, truncated: true };
  expect(longLists(body, SHAPE)).toBeNull();
  expect(JSON.parse(JSON.stringify(body))).toEqual({
    node: 3,
    published: { count: 1, topics: ['x'] },
    subscribed: null,
    truncated: true,
  });
  expect(longLists(bodyOf(1), { ...SHAPE, wanted: 3 })).toBeNull();
});

test('a list whose cursor does not change ends with an error', async () => {
  const pieces = longLists(bodyOf(1), SHAPE);
  const stuck: FetchPage = async () => ({
    topics: [],
    pageInfo: { hasNextPage: true, endCursor: LISTS['1 published']?.[2] },
  });
  await expect(async () => {
    for await (const _piece of pieces?.(stuck) ?? []);
  }).rejects.toThrow('cursor of the next page did not change');
});
