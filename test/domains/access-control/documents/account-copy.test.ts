import { expect, test } from 'vitest';
import { ADMIN, startClient, startMosquitto } from '../../../support/mosquitto.ts';
import { startTestService } from '../../../support/service.ts';
import { addBroker } from '../access-service.ts';

const COPY = `mutation ($input: CopyAccountsInput!) { copyAccounts(input: $input) {
  outcome notes needPassword keepPassword changes { outcome commands { command fields } }
} }`;
const CHANGE = `mutation ($b: ID!, $changes: [AccessChangeInput!]!) {
  changeAccessControl(input: { brokerId: $b, changes: $changes }) { outcome }
}`;
const ROLE = `query ($b: ID!, $name: String!) { broker(id: $b) {
  accessRole(roleName: $name) { acls { topic } } account(username: "meter-1") { groups { groupName } clientId }
} }`;

const rule = (topic: string) => ({ aclType: 'PUBLISH_CLIENT_SEND', topic, allow: true });

/** A role, a group with it, and members of the group; the other accounts stay where they are. */
const FURNITURE = [
  { createAccessRole: { roleName: 'meter', acls: [rule('site/#')] } },
  { createAccessRole: { roleName: 'unused', acls: [rule('other/#')] } },
  { createAccessGroup: { groupName: 'hall', roles: [{ roleName: 'meter', priority: 3 }] } },
  ...['meter-1', 'meter-2', 'meter-3'].map((username) => ({
    createAccount: { username, clientId: `c-${username}`, password: `of ${username}`, groups: [{ groupName: 'hall' }] },
  })),
];

async function world() {
  const service = await startTestService({ embeddedBroker: true });
  const embedded = await service.storage.db.broker.findFirstOrThrow();
  const made = await service.graphql(
    'mutation ($p: ID!) { createCloudBroker(input: { projectId: $p, name: "second" }) { broker { id } } }',
    { p: service.projectId },
  );
  const second: string = made.data.createCloudBroker.broker.id;
  const stateOf = async () =>
    (await service.graphql('query ($b: ID!) { broker(id: $b) { isConnected url } }', { b: second })).data.broker;
  await expect.poll(async () => (await stateOf()).isConnected).toBe(true);
  const { changeAccessControl } = (await service.graphql(CHANGE, { b: embedded.id, changes: FURNITURE })).data;
  expect(changeAccessControl.outcome).toBe('APPLIED');
  const copy = async (input: object, token = service.root) =>
    service.graphql(COPY, { input: { fromBrokerId: embedded.id, usernames: ['meter-1', 'meter-2'], ...input } }, token);
  return { service, first: embedded.id, second, url: (await stateOf()).url as string, copy };
}

test('accounts are copied with groups, roles and passwords, and existing objects of the broker stay', async () => {
  const { service, first, second, url, copy } = await world();
  const own = { createAccount: { username: 'meter-2', password: 'own', roles: [] } };
  await service.graphql(CHANGE, { b: second, changes: [own] });

  const plan = (await copy({ brokerId: second, dryRun: true })).data.copyAccounts;
  expect(plan).toMatchObject({ outcome: 'PLANNED', needPassword: [], keepPassword: ['meter-1'] });
  expect((await service.graphql(ROLE, { b: second, name: 'meter' })).data.broker.accessRole).toBeNull();
  const { copyAccounts } = (await copy({ brokerId: second })).data;

  expect(copyAccounts).toMatchObject({ outcome: 'APPLIED', needPassword: [], keepPassword: ['meter-1'] });
  expect(copyAccounts.notes).toEqual([expect.stringMatching(/accounts with these names already.*"meter-2"/)]);
  expect((await service.graphql(ROLE, { b: second, name: 'meter' })).data.broker).toEqual({
    accessRole: { acls: [{ topic: 'site/#' }] },
    account: { groups: [{ groupName: 'hall' }], clientId: 'c-meter-1' },
  });
  expect((await service.graphql(ROLE, { b: second, name: 'unused' })).data.broker.accessRole).toBeNull();
  await startClient(url, { clientId: 'c-meter-1', username: 'meter-1', password: 'of meter-1' });
  await startClient(url, { clientId: 'any', username: 'meter-2', password: 'own' });
  const again = (await copy({ brokerId: second })).data.copyAccounts;
  expect(again).toMatchObject({ outcome: 'UNCHANGED', changes: [], needPassword: [], keepPassword: [] });

  // A role of the same name decides at its broker as before.
  await service.graphql(CHANGE, {
    b: second,
    changes: [
      { putAccessRole: { roleName: 'meter', acls: [rule('own/#')] } },
      { deleteAccount: { username: 'meter-1' } },
    ],
  });
  const renewed = (await copy({ brokerId: second, passwords: [{ username: 'meter-1', password: 'new' }] })).data;
  expect(renewed.copyAccounts).toMatchObject({ outcome: 'APPLIED', keepPassword: [], needPassword: [] });
  expect(renewed.copyAccounts.notes).toContainEqual(expect.stringMatching(/roles with these names.*"meter"/));
  expect((await service.graphql(ROLE, { b: second, name: 'meter' })).data.broker.accessRole).toEqual({
    acls: [{ topic: 'own/#' }],
  });
  await startClient(url, { clientId: 'c-meter-1', username: 'meter-1', password: 'new' });

  const unknown = await copy({ brokerId: second, usernames: ['meter-1', 'nobody'] });
  expect(unknown.errors?.[0]?.extensions.info).toMatchObject({ issues: [{ path: 'input.usernames.1' }] });
  expect((await copy({ brokerId: first })).errors?.[0]?.extensions.code).toBe('INVALID');
  const { data } = await service.graphql(
    `query ($b: ID!) { auditEvents(filter: { operation: "copyAccounts", brokerId: $b }, orderBy: { field: TIME, order: ASC }) {
      nodes { targetKind after before result }
    } }`,
    { b: second },
  );
  const [, done] = data.auditEvents.nodes;
  expect(done).toMatchObject({ targetKind: 'accessControl', result: 'DONE', before: null });
  expect(done.after).toMatchObject({ fromBrokerId: first, usernames: ['meter-1', 'meter-2'] });
  expect(done.after.changes.map((change: object) => Object.keys(change)[0])).toEqual([
    'createAccessRole',
    'createAccessGroup',
    'createAccount',
  ]);
});

test('a copy to or from a Mosquitto says why passwords cannot be copied, and requires permission on both brokers', async () => {
  const { service, first, second, copy } = await world();
  const mosquitto = await startMosquitto({ access: 'dynsec' });
  const other = await addBroker(service, mosquitto.url);
  const plan = (await copy({ brokerId: other, dryRun: true })).data.copyAccounts;
  expect(plan).toMatchObject({ outcome: 'PLANNED', needPassword: ['meter-1', 'meter-2'], keepPassword: [] });
  expect(plan.notes.join()).toMatch(/accept password hashes/);
  const passwords = ['meter-1', 'meter-2'].map((username) => ({ username, password: `new ${username}` }));
  const { copyAccounts } = (await copy({ brokerId: other, passwords })).data;
  expect(copyAccounts).toMatchObject({ outcome: 'APPLIED', needPassword: [], keepPassword: [] });
  await startClient(mosquitto.url, { clientId: 'c-meter-2', username: 'meter-2', password: 'new meter-2' });

  const back = { fromBrokerId: other, brokerId: second, dryRun: true };
  expect((await copy(back)).data.copyAccounts.notes.join()).toMatch(/return password hashes/);
  // The account of the service administers its broker, so only an administrator may create it elsewhere.
  const viewer = await service.person('VIEWER');
  const admin = { ...back, usernames: [ADMIN.username], dryRun: false };
  await service.graphql(CHANGE, { b: second, changes: [{ deleteAccount: { username: 'meter-1' } }] });
  expect(
    (await copy(admin, viewer.token)).data.copyAccounts.changes.flatMap(({ outcome }: { outcome: string }) => outcome),
  ).not.toContain('APPLIED');
  expect((await copy(back, viewer.token)).errors).toBeUndefined();

  const strange = await service.graphql('mutation { createProject(input: { name: "strange" }) { project { id } } }');
  const elsewhere = await service.person('ADMIN', strange.data.createProject.project.id);
  const place = { projectId: strange.data.createProject.project.id, name: 'third', url: mosquitto.url, ...ADMIN };
  const add = 'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }';
  const third = (await service.graphql(add, { input: place })).data.addBroker.broker.id;
  for (const input of [
    { brokerId: third, fromBrokerId: first },
    { brokerId: first, fromBrokerId: third },
  ]) {
    expect((await copy(input, elsewhere.token)).errors?.[0]?.extensions.code).toBe('NOT_FOUND');
  }
});
