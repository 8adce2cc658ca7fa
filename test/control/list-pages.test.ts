import { expect, test } from 'vitest';
import { listPages } from '../../src/control/list-pages.ts';
import type { ControlCaller } from '../../src/control/plugin.ts';

/** A caller whose list is `items`, whatever is asked for beside a page of it. */
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

test('a list with more text than is wanted is given up, one with less is read', async () => {
  const caller = listing(Array.from({ length: 1_000 }, (_, n) => ({ rolename: `r${n}`, textname: 'x'.repeat(1_000) })));

  await expect(all(caller, { maxBytes: 100_000 })).rejects.toMatchObject({ code: 'TOO_LARGE' });
  expect(caller.pages.length).toBeLessThan(20);
  expect((await all(caller, { maxBytes: 10_000_000 })).items).toHaveLength(1_000);
});

test('an item that is nested too deep to be written again is read like any other', async () => {
  const nested = JSON.parse(`{"rolename":"deep","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
  const { items } = await all(listing([nested, { rolename: 'flat' }]), {});
  expect(items).toHaveLength(2);
});
