import { expect, test } from 'vitest';
import { accessWorld } from '../access-control/access-service.ts';
import { leftBy } from './audited-service.ts';

const CHANGE = `mutation ($b: ID!, $changes: [AccessChangeInput!]!, $dryRun: Boolean) {
  changeAccessControl(input: { brokerId: $b, changes: $changes, dryRun: $dryRun }) { outcome }
}`;
const APPLY = `mutation ($b: ID!, $document: JSON, $passwords: [AccountPasswordInput!], $deleteOthers: Boolean) {
  applyAccessControl(
    input: { brokerId: $b, document: $document, passwords: $passwords, setPasswords: true, deleteOthers: $deleteOthers }
  ) { outcome }
}`;

test('several changes of access control have the previous values of each one that replaced something', async () => {
  const { service, graph } = await accessWorld('the embedded broker');
  const change = (changes: readonly object[], dryRun = false) => graph(CHANGE, { changes, dryRun });
  const events = await leftBy(service, async () => {
    await change([
      { createAccessRole: { roleName: 'sensor' } },
      { createAccount: { username: 'meter', textName: 'Old', password: 'hidden-one' } },
      { addAccountRole: { username: 'meter', roleName: 'sensor', priority: 3 } },
      { updateAccount: { username: 'meter', textName: 'Next', password: 'hidden-two' } },
    ]);
    const changes = [
      { updateAccount: { username: 'meter', textName: 'New', enabled: false } },
      { deleteAccount: { username: 'nobody' } },
      { updateAccount: { username: 'admin', enabled: false } },
      { setDefaultAcl: { unsubscribe: true } },
      { deleteAccount: { username: 'meter' } },
    ];
    await change(changes, true);
    await change(changes);
  });
  const deleted = { username: 'meter', textName: 'New', enabled: false, roles: [{ roleName: 'sensor', priority: 3 }] };
  const before = {
    changes: [
      { updateAccount: { username: 'meter', textName: 'Next', enabled: true } },
      { deleteAccount: null },
      { updateAccount: null },
      { setDefaultAcl: null },
      { deleteAccount: deleted },
    ],
  };
  const outcomes = ['APPLIED', 'REJECTED', 'REJECTED', 'UNCHANGED', 'APPLIED'];
  expect(events).toMatchObject([
    {
      result: 'DONE',
      targetKind: 'accessControl',
      before: {
        changes: [
          { createAccessRole: null },
          { createAccount: null },
          { addAccountRole: { username: 'meter', roles: [] } },
          { updateAccount: { username: 'meter', textName: 'Old' } },
        ],
      },
      after: { outcome: 'APPLIED', outcomes: ['APPLIED', 'APPLIED', 'APPLIED', 'APPLIED'] },
    },
    { before, after: { dryRun: true, outcomes: outcomes.map((outcome) => outcome.replace('APPLIED', 'PLANNED')) } },
    { before, after: { outcome: 'PARTLY_APPLIED', outcomes } },
  ]);
  expect(JSON.stringify(await service.storage.db.auditEntry.findMany())).not.toMatch(/hidden-/);
});

test('changes that were refused or failed as a whole have no previous values', async () => {
  const { service, brokerId, graph, refused } = await accessWorld('the embedded broker');
  const rename = (username: string) => ({ b: brokerId, changes: [{ updateAccount: { username, textName: 'New' } }] });
  await graph(
    `mutation { updateProject(input: { projectId: "${service.projectId}", hasStrictRoles: true }) { __typename } }`,
  );
  const viewer = await service.person('VIEWER');
  const events = await leftBy(service, async () => {
    await service.graphql(CHANGE, rename('admin'), viewer.token);
    await graph(CHANGE, rename('nobody'));
    await refused(APPLY, { document: { clients: 1 } });
    await graph(CHANGE, rename('admin'));
  });
  expect(events).toMatchObject([
    { result: 'REFUSED', code: 'NOT_ALLOWED', before: null },
    { result: 'FAILED', code: 'BROKER_REJECTED', before: null, after: { outcomes: ['REJECTED'] } },
    { result: 'FAILED', code: 'INVALID', before: null },
    { result: 'DONE', before: { changes: [{ updateAccount: { username: 'admin', textName: 'Administrator' } }] } },
  ]);
  expect(events[0]?.after).not.toHaveProperty('outcomes');
});

test('an applied document has the changes that it required, with the previous values of exactly these', async () => {
  const { service, graph } = await accessWorld('the embedded broker');
  await graph(CHANGE, {
    changes: [
      { createAccessRole: { roleName: 'sensor' } },
      { createAccount: { username: 'meter', textName: 'Old', password: 'hidden-one' } },
      { createAccount: { username: 'same', textName: 'Same', password: 'hidden-two' } },
    ],
  });
  const document = (await graph('query ($b: ID!) { exportAccessControl(brokerId: $b) }')).exportAccessControl;
  const meter = document.clients.find(({ username }: { readonly username: string }) => username === 'meter');
  const events = await leftBy(service, async () => {
    await graph(APPLY, { document });
    Object.assign(meter, { textName: 'New', disabled: true, roles: [{ name: 'sensor', priority: 2 }] });
    document.defaultAcl.subscribe = true;
    await graph(APPLY, { document, passwords: [{ username: 'meter', password: 'hidden-three' }] });
    document.clients.splice(document.clients.indexOf(meter), 1);
    await graph(APPLY, { document, deleteOthers: true });
  });
  const roles = [{ roleName: 'sensor', priority: 2 }];
  const values = { username: 'meter', textName: 'New', enabled: false, roles };
  expect(events.map(({ before, after: { changes, outcomes } }) => ({ before, changes, outcomes }))).toEqual([
    { before: null, changes: [], outcomes: [] },
    {
      before: {
        changes: [
          { updateAccount: { username: 'meter', textName: 'Old', enabled: true, roles: [] } },
          { setDefaultAcl: { subscribe: false } },
        ],
      },
      changes: [{ updateAccount: { ...values, password: '***' } }, { setDefaultAcl: { subscribe: true } }],
      outcomes: ['APPLIED', 'APPLIED'],
    },
    {
      before: { changes: [{ deleteAccount: { ...values, clientId: null, textDescription: null, groups: [] } }] },
      changes: [{ deleteAccount: { username: 'meter' } }],
      outcomes: ['APPLIED'],
    },
  ]);
  expect(JSON.stringify(await service.storage.db.auditEntry.findMany())).not.toMatch(/hidden-/);
});

test('the previous values of very many changes are truncated', async () => {
  const { service, graph } = await accessWorld('the embedded broker');
  const put = (textDescription: string) =>
    graph(CHANGE, {
      changes: Array.from({ length: 500 }, (_, index) => ({
        putAccessRole: { roleName: `role ${index}`, textDescription },
      })),
    });
  await put('x'.repeat(500));
  const [event] = await leftBy(service, () => put('y'.repeat(500)));
  expect(event?.after.outcomes).toHaveLength(101);
  expect(JSON.stringify(event?.before).length).toBeLessThan(20_000);
  expect(event?.before.changes.at(-1)).toMatch(/^… and \d+ more$/);
});
