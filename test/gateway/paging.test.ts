import { expect, test } from 'vitest';
import { listConnection } from '../../src/gateway/paging.ts';
import { kindOfId, newId } from '../../src/platform/ids.ts';

const items = Array.from({ length: 10 }, (_, i) => ({ id: `brk_${i}` }));
const idsOf = (args: Parameters<typeof listConnection>[1], list = items) =>
  listConnection(list, args)
    .edges.map(({ node }) => node.id.slice(4))
    .join('');

test('pages go forwards by first and after, backwards by last and before, and by offset', () => {
  expect(idsOf({ first: 3 })).toBe('012');
  expect(idsOf({ first: 3, after: 'brk_2' })).toBe('345');
  expect(idsOf({ first: 3, offset: 5 })).toBe('567');
  expect(idsOf({ first: 2, after: 'brk_2', offset: 2 })).toBe('56');
  expect(idsOf({ last: 2 })).toBe('89');
  expect(idsOf({ last: 2, before: 'brk_5' })).toBe('34');
  expect(idsOf({ first: 0 })).toBe('');
  expect(idsOf({ offset: 50 })).toBe('');
});

test('a page has flags for further pages, and the size of the whole list', () => {
  expect(listConnection(items, { first: 4 })).toMatchObject({
    totalCount: 10,
    pageInfo: { hasNextPage: true, hasPreviousPage: false, startCursor: 'brk_0', endCursor: 'brk_3' },
  });
  expect(listConnection(items, { first: 4, after: 'brk_7' }).pageInfo).toMatchObject({
    hasNextPage: false,
    hasPreviousPage: true,
  });
});

test('a cursor stays valid when its entry is removed', () => {
  const fewer = items.filter(({ id }) => id !== 'brk_2');
  expect(idsOf({ first: 2, after: 'brk_2' }, fewer)).toBe('34');
});

test('page sizes out of range are refused with the argument names', () => {
  expect(() => listConnection(items, { first: -1, last: 100_000, offset: -2 })).toThrow(/first.*last.*offset/s);
});

test('ids sort by creation time, contain their kind and are unique', () => {
  const ids = Array.from({ length: 1_000 }, (_, i) => newId('broker', 1_700_000_000_000 + i));
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(ids).size).toBe(1_000);
  expect(kindOfId(ids[0] ?? '')).toBe('broker');
  expect(kindOfId('xyz_1')).toBeNull();
});
