import fc from 'fast-check';
import { expect, test } from 'vitest';
import { kindOfId, newId } from '../../src/platform/ids.ts';
import { listConnection, orderedConnection, type PageArguments } from '../../src/platform/paging.ts';

const items = Array.from({ length: 10 }, (_, i) => ({ id: `brk_${i}` }));
const cursors = listConnection(items, {}, 'Broker').edges.map(({ cursor }) => cursor);
const idsOf = (args: PageArguments, list = items) =>
  listConnection(list, args, 'Broker')
    .edges.map(({ node }) => node.id.slice(4))
    .join('');

test('pages go forwards by first and after, backwards by last and before, and by offset', () => {
  expect(idsOf({ first: 3 })).toBe('012');
  expect(idsOf({ first: 3, after: cursors[2] })).toBe('345');
  expect(idsOf({ first: 3, offset: 5 })).toBe('567');
  expect(idsOf({ first: 2, after: cursors[2], offset: 2 })).toBe('56');
  expect(idsOf({ last: 2 })).toBe('89');
  expect(idsOf({ last: 2, before: cursors[5] })).toBe('34');
  expect(idsOf({ first: 0 })).toBe('');
  expect(idsOf({ offset: 50 })).toBe('');
});

test('a page has flags for further pages, and the size of the whole list', () => {
  expect(listConnection(items, { first: 4 }, 'Broker')).toMatchObject({
    totalCount: 10,
    pageInfo: { hasNextPage: true, hasPreviousPage: false, startCursor: cursors[0], endCursor: cursors[3] },
  });
  expect(listConnection(items, { first: 4, after: cursors[7] }, 'Broker').pageInfo).toMatchObject({
    hasNextPage: false,
    hasPreviousPage: true,
  });
});

test('a cursor stays valid when its entry is removed', () => {
  const fewer = items.filter(({ id }) => id !== 'brk_2');
  expect(idsOf({ first: 2, after: cursors[2] }, fewer)).toBe('34');
});

const entries = fc.uniqueArray(fc.record({ id: fc.string(), value: fc.option(fc.integer({ min: 0, max: 3 })) }), {
  selector: ({ id }) => id,
  maxLength: 20,
});
const direction = fc.constantFrom('asc' as const, 'desc' as const);

test('the pages of a sorted list have each entry once in both directions, also when entries are removed meanwhile', () => {
  fc.assert(
    fc.property(
      entries,
      direction,
      fc.integer({ min: 1, max: 5 }),
      fc.func(fc.boolean()),
      (items, order, size, goes) => {
        const by = { field: 'VALUE', direction: order };
        const page = (of: typeof items, args: PageArguments) => orderedConnection(of, args, by, ({ value }) => value);
        const whole = page(items, { first: 100 }).edges.map(({ node }) => node);
        const known = whole.flatMap(({ value }) => value ?? []);
        expect(known).toEqual(known.toSorted((a, b) => (order === 'asc' ? a - b : b - a)));
        expect(whole.slice(0, known.length).every(({ value }) => value !== null)).toBe(true);

        const forwards: typeof items = [];
        for (let after: string | null = null, left = items; ; ) {
          const { edges, pageInfo } = page(left, { first: size, after });
          forwards.push(...edges.map(({ node }) => node));
          if (!pageInfo.hasNextPage) break;
          after = pageInfo.endCursor;
          const last = edges.at(-1)?.node;
          left = last && goes(last.id) ? left.filter((item) => item !== last) : left;
        }
        expect(forwards).toEqual(whole);

        const backwards: typeof items = [];
        for (let before: string | null = null; ; ) {
          const { edges, pageInfo } = page(items, { last: size, before });
          backwards.unshift(...edges.map(({ node }) => node));
          if (!pageInfo.hasPreviousPage) break;
          before = pageInfo.startCursor;
        }
        expect(backwards).toEqual(whole);
      },
    ),
  );
});

test('a cursor of another order is refused', () => {
  const page = (field: string, after?: string) =>
    orderedConnection(items, { first: 1, after }, { field, direction: 'asc' }, ({ id }) => id);
  const after = page('NAME').pageInfo.endCursor ?? '';
  expect(page('NAME', after).edges[0]?.node.id).toBe('brk_1');
  for (const wrong of ['brk_1', '', '%']) expect(() => page('NAME', wrong)).toThrow('after');
  expect(() => page('CREATED_AT', after)).toThrow('after');
  const of = (kind: string, args: PageArguments, direction?: 'desc') => listConnection(items, args, kind, direction);
  expect(of('Broker', { before: cursors[5] }).edges).toHaveLength(5);
  expect(() => of('Cluster', { before: cursors[5] })).toThrow('before');
  expect(() => of('Broker', { before: cursors[5] }, 'desc')).toThrow('before');
});

test('page sizes out of range are refused with the argument names', () => {
  expect(() => listConnection(items, { first: -1, last: 100_000, offset: -2 }, 'Broker')).toThrow(
    /first.*last.*offset/s,
  );
});

test('ids sort by creation time, contain their kind and are unique', () => {
  const ids = Array.from({ length: 1_000 }, (_, i) => newId('broker', 1_700_000_000_000 + i));
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(ids).size).toBe(1_000);
  expect(kindOfId(ids[0] ?? '')).toBe('broker');
  expect(kindOfId('xyz_1')).toBeNull();
});
