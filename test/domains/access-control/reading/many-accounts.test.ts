import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { AccessView } from '../../../../src/domains/access-control/graph/access-view.ts';
import { AccessIndex } from '../../../../src/domains/access-control/reading/access-index.ts';
import type { BrokerRecord } from '../../../../src/domains/brokers/broker-cache.ts';
import { BrokerControls } from '../../../../src/protocol/control/broker-controls.ts';
import { accountsFile } from '../../../support/accounts-file.ts';
import { connectedLink } from '../../../support/link.ts';
import { ADMIN, mosquittoProgram, startMosquitto } from '../../../support/mosquitto.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

interface Answer {
  readonly command: string;
  readonly data?: { readonly totalCount?: number; readonly [list: string]: unknown };
}

test('20,000 accounts and 500 groups are read in pages, never in one piece, and their lists are right', async () => {
  const accounts = accountsFile(ADMIN, { count: 20_000, groups: 500 });
  const folder = temporaryFolder();
  const file = join(folder, 'dynamic-security.json');
  writeFileSync(file, accounts.text);
  const broker = await startMosquitto({
    lines: [`plugin ${mosquittoProgram().plugin}`, `plugin_opt_config_file ${file}`],
  });
  // The broker sends each response to all administrators.
  const observer = await broker.client(ADMIN);
  const sizes: number[] = [];
  const answers: Answer[] = [];
  observer.on('message', (_topic, payload) => {
    sizes.push(payload.length);
    answers.push(...(JSON.parse(payload.toString()) as { responses: Answer[] }).responses);
  });
  await observer.subscribeAsync('$CONTROL/dynamic-security/v1/response');

  const link = await connectedLink({ url: broker.url, ...ADMIN });
  const controls = new BrokerControls(link, { timeoutMs: 30_000 });
  const index = new AccessIndex({ controls, session: link });
  onTestFinished(async () => {
    index.close();
    await controls.close();
  });
  const snapshot = await index.read();
  expect(snapshot).toMatchObject({ isSettled: true, unreadable: 0 });
  expect(snapshot.policy.clients.size).toBe(20_001);
  expect(snapshot.policy.groups.size).toBe(500);
  expect(snapshot.policy.roles.size).toBe(51);

  await expect.poll(() => answers.filter(({ command }) => command === 'listRoles').length).toBeGreaterThan(2);
  expect(Math.max(...sizes)).toBeLessThan(500_000);
  const pages = answers.filter(({ command }) => command === 'listClients');
  expect(pages.length).toBeGreaterThan(5);
  for (const { data } of pages) {
    expect(data?.totalCount).toBe(20_001);
    expect(Array.isArray(data?.clients) && data.clients.length < 5_000).toBe(true);
  }

  for (const { groupname, members } of accounts.groups) {
    expect(snapshot.lists.members.get(groupname)).toEqual(members.map((id) => ({ id, priority: 1 })));
  }
  const view = new AccessView({ id: 'brk_1' } as BrokerRecord, snapshot, () =>
    Promise.reject(new Error('not connected')),
  );
  const filter = { value: 'hall 3', mode: 'endsWith', target: 'textname' } as const;
  const expected = accounts.clients
    .filter(({ textname }) => textname.endsWith('hall 3'))
    .map(({ username }) => username);
  const seen: string[] = [];
  let after: string | null = null;
  for (;;) {
    const { edges, pageInfo, totalCount } = await view.accounts({ first: 1_000, after, filter });
    expect(totalCount).toBe(expected.length);
    seen.push(...edges.map(({ node }) => node.object.username));
    if (!pageInfo.hasNextPage) break;
    after = pageInfo.endCursor;
  }
  expect(seen).toEqual(expected);
  const inGroup = await view.accounts({ filter: { value: 'group-000042', mode: 'equals', target: 'groupname' } });
  expect(inGroup.edges.map(({ node }) => node.object.username)).toEqual(accounts.groups[42]?.members);
  const groupOf = view.groups({ filter: { value: 'device-001042', mode: 'equals', target: 'username' } });
  expect(groupOf.edges.map(({ node }) => node.object.groupname)).toEqual(['group-000042']);
  expect(view.roles({ filter: { value: '000007/data', target: 'topic' } }).totalCount).toBe(1);

  // An own write costs one small payload and no list.
  const asked = answers.length;
  await controls.callAll('dynamic-security', [
    { command: 'modifyClient', fields: { username: 'device-000001', textname: 'renamed' } },
  ]);
  const refreshed = await index.refresh([{ kind: 'CLIENT', name: 'device-000001' }]);
  expect(refreshed.policy.clients.get('device-000001')?.textName).toBe('renamed');
  expect(refreshed.policy.clients.size).toBe(20_001);
  await expect.poll(() => answers.slice(asked).filter(({ command }) => command === 'getClient')).toHaveLength(1);
  for (const { command, data } of answers.slice(asked)) {
    if (command === 'listClients') expect(data?.clients).toHaveLength(1);
  }
});
