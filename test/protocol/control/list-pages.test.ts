import { expect, test } from 'vitest';
import { listPages } from '../../../src/protocol/control/list-pages.ts';
import type { ControlCaller } from '../../../src/protocol/control/plugin.ts';

/** A caller whose list is `items`; other fields than those of the page are ignored. */
function listing(items: readonly unknown[]): ControlCaller & { readonly pages: number[] } {
  const pages: number[] = [];
  const call = async (_api: string, _command: string, fields: Readonly<Record<string, unknown>> = {}) => {
    const { count, offset } = fields as { readonly count: number; readonly offset: number };
    pages.push(count);
    return { totalCount: items.length, roles: items.slice(offset, offset + count) };
  };
  return { call, pages } as unknown as ControlCaller & { readonly pages: number[] };
}

const all = (caller: ControlCaller, options: { readonly maxBytes?: number }) =>
  listPages(caller, 'dynamic-security', 'listRoles', 'roles', { firstPage: 1, pageBytes: 10_000, ...options });

test('a list above maxBytes is refused, and a smaller one is read', async () => {
  const caller = listing(Array.from({ length: 1_000 }, (_, n) => ({ rolename: `r${n}`, textname: 'x'.repeat(1_000) })));

  await expect(all(caller, { maxBytes: 100_000 })).rejects.toMatchObject({ code: 'TOO_LARGE' });
  expect(caller.pages.length).toBeLessThan(20);
  expect((await all(caller, { maxBytes: 10_000_000 })).items).toHaveLength(1_000);
});

test('an item that is nested too deeply for JSON.stringify is read', async () => {
  const nested = JSON.parse(`{"rolename":"deep","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
  const { items } = await all(listing([nested, { rolename: 'flat' }]), {});
  expect(items).toHaveLength(2);
});

/** A broker that answers each page with what `page` makes of it, and always has more. */
function endless(page: (offset: number, count: number) => readonly string[]) {
  let pages = 0;
  const call = async (_api: string, _command: string, fields: Readonly<Record<string, unknown>> = {}) => {
    pages += 1;
    const { count, offset } = fields as { readonly count: number; readonly offset: number };
    return { totalCount: 199_999, roles: page(offset, count) };
  };
  return { caller: { call } as unknown as ControlCaller, pages: () => pages };
}

const NAMED = { firstPage: 2, pageBytes: 20, nameOf: (item: unknown) => item };

test.each([
  ['repeats one entry', () => ['same', 'same']],
  ['repeats its first page', (_offset: number, count: number) => [...Array(count).keys()].map((n) => `r${n}`)],
  ['goes round', (offset: number) => [offset, offset + 1].map((n) => `r${n % 7}`)],
])('a list that %s is given up soon, where items have names', async (_how, page) => {
  const { caller, pages } = endless(page);
  await expect(listPages(caller, 'dynamic-security', 'listRoles', 'roles', NAMED)).rejects.toMatchObject({
    code: 'BROKER_REJECTED',
  });
  expect(pages()).toBeLessThan(20);
});

test('items inserted before the current page do not count as repeated pages', async () => {
  let names = [...Array(100).keys()].map((n) => `r${String(n).padStart(3, '0')}`);
  let pages = 0;
  const call = async (_api: string, _command: string, fields: Readonly<Record<string, unknown>> = {}) => {
    const { count, offset } = fields as { readonly count: number; readonly offset: number };
    pages += 1;
    // Two new ones before each of three pages in a row: these pages are known already.
    if (pages > 2 && pages < 6) names = [`a${9 - pages}`, `a${9 - pages}b`, ...names];
    return { totalCount: names.length, roles: names.slice(offset, offset + count) };
  };
  const caller = { call } as unknown as ControlCaller;
  const { items, isSteady } = await listPages(caller, 'dynamic-security', 'listRoles', 'roles', NAMED);
  expect(isSteady).toBe(false);
  expect(items).toEqual(expect.arrayContaining(['r000', 'r050', 'r099']));
});

test('no page is requested after the deadline', async () => {
  const options = { ...NAMED, endsAt: Date.now() + 50 };
  const { caller, pages } = endless((offset, count) => {
    // A fast machine reads the whole list in less time.
    while (offset > 0 && Date.now() <= options.endsAt);
    return [...Array(count).keys()].map((n) => `r${offset + n}`);
  });
  await expect(listPages(caller, 'dynamic-security', 'listRoles', 'roles', options)).rejects.toMatchObject({
    code: 'BROKER_TIMEOUT',
  });
  expect(pages()).toBeGreaterThan(1);
});
