import { expect, test } from 'vitest';
import { accessWorld } from '../access-control/access-service.ts';

const PASSWORDS = `query ($b: ID!, $before: DateTime, $first: Int) {
  accountPasswords(brokerId: $b, setBefore: $before, first: $first) {
    totalCount recordedSince partEntries pageInfo { endCursor } nodes { setAt account { username } }
  }
}`;
const CHANGE = `mutation ($b: ID!, $changes: [AccessChangeInput!]!, $dryRun: Boolean) {
  changeAccessControl(input: { brokerId: $b, changes: $changes, dryRun: $dryRun }) { outcome }
}`;
const SET = `mutation ($b: ID!, $username: String!) {
  setAccountPassword(input: { brokerId: $b, change: { username: $username, password: "next" } }) { outcome }
}`;

interface Listed {
  readonly setAt: string | null;
  readonly account: { readonly username: string };
}

test('the age of a password is known if this service set it, and is unknown otherwise', async () => {
  const { service, graph, ask } = await accessWorld('the embedded broker');
  const list = async (variables: object = {}) => (await graph(PASSWORDS, { ...variables })).accountPasswords;
  const names = async (variables?: object) =>
    (await list(variables)).nodes.map(({ account }: Listed) => account.username);
  const ages = async () =>
    new Map<string, string | null>((await list()).nodes.map(({ account, setAt }: Listed) => [account.username, setAt]));
  const account = (username: string, more: object = { password: 'x' }) => ({ createAccount: { username, ...more } });
  await graph(CHANGE, { changes: [account('old'), account('renewed'), account('gone'), account('none', {})] });
  await ask('createClient', { username: 'around', password: 'y' });
  await expect.poll(names).toEqual(['admin', 'around', 'none', 'gone', 'old', 'renewed']);
  const first = await ages();
  expect(first.get('old')).toBe(first.get('renewed'));
  expect([first.get('around'), first.get('none'), first.get('admin')]).toEqual([null, null, null]);

  await graph(SET, { username: 'renewed' });
  await graph(CHANGE, { changes: [{ updateAccount: { username: 'old', password: 'z' } }], dryRun: true });
  await graph(CHANGE, { changes: [{ updateAccount: { username: 'old', textName: 'Old' } }] });
  await graph(CHANGE, { changes: [{ deleteAccount: { username: 'gone' } }] });
  await ask('createClient', { username: 'gone', password: 'y' });
  await expect.poll(names).toEqual(['admin', 'around', 'gone', 'none', 'old', 'renewed']);
  const last = await ages();
  expect(last.get('old')).toBe(first.get('old'));
  const renewedAt = last.get('renewed') ?? '';
  expect(Date.parse(renewedAt)).toBeGreaterThan(Date.parse(first.get('renewed') ?? ''));
  expect(await names({ before: renewedAt })).toEqual(['admin', 'around', 'gone', 'none', 'old']);
  expect(await names({ before: first.get('old'), first: 2 })).toEqual(['admin', 'around']);
  expect(await list()).toMatchObject({ totalCount: 6, partEntries: 0, recordedSince: expect.any(String) });

  // The audit truncates long lists, and so does not name all accounts.
  const many = Array.from({ length: 100 }, (_, n) => ({ updateAccount: { username: 'old', textName: `Name ${n}` } }));
  await graph(CHANGE, { changes: [...many, account('last')] });
  const cut = await list();
  expect(cut).toMatchObject({ totalCount: 7, partEntries: 1 });
  expect(cut.nodes.find((one: Listed) => one.account.username === 'last')?.setAt).toBeNull();

  for (const role of ['VIEWER', 'EDITOR'] as const) {
    const { token } = await service.person(role);
    const { errors } = await service.graphql(
      PASSWORDS,
      { b: (await graph('query ($b: ID!) { broker(id: $b) { id } }')).broker.id },
      token,
    );
    expect(errors?.[0]?.extensions.code).toBe('NOT_ALLOWED');
  }
});
