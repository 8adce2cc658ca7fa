import { expect, test } from 'vitest';
import { accessWorld } from '../access-control/access-service.ts';

const SINCE = `query ($b: ID!, $since: DateTime!, $first: Int! = 100) { accessChanges(brokerId: $b, since: $since, first: $first) {
  changes { operation actorName } changeCount previous { operation } knownSince isComplete
  usernames groupNames roleNames concernsAll
} }`;
const CHANGE = `mutation ($b: ID!, $changes: [AccessChangeInput!]!, $dryRun: Boolean) {
  changeAccessControl(input: { brokerId: $b, changes: $changes, dryRun: $dryRun }) { outcome }
}`;
const PASSWORD =
  'mutation ($b: ID!) { setAccountPassword(input: { brokerId: $b, change: { username: "a", password: "next" } }) { outcome } }';
const DEFAULTS =
  'mutation ($b: ID!) { setDefaultAcl(input: { brokerId: $b, change: { publishClientSend: true } }) { outcome } }';

test('the changes since a time name what may have been different then', async () => {
  const { service, brokerId, graph, refused, ask } = await accessWorld('the embedded broker');
  const change = (changes: object[], dryRun = false) => graph(CHANGE, { changes, dryRun });
  const since = async (time: string, more: object = {}) => (await graph(SINCE, { since: time, ...more })).accessChanges;
  const next = () => new Date(Date.now() + 1).toISOString();
  await change([
    { createAccessRole: { roleName: 'sensor' } },
    { createAccount: { username: 'a', password: 'x' } },
    { createAccount: { username: 'b', password: 'x' } },
  ]);
  const then = next();

  // These decide nothing.
  await change([{ addAccountRole: { username: 'b', roleName: 'sensor' } }], true);
  await graph(PASSWORD);
  // A change of another client is not recorded.
  await ask('createClient', { username: 'around', password: 'y' });
  const nothing = { changes: [], changeCount: 0, usernames: [], groupNames: [], roleNames: [], concernsAll: false };
  expect(await since(then)).toMatchObject({
    ...nothing,
    isComplete: true,
    previous: { operation: 'changeAccessControl' },
  });

  const acl = { aclType: 'PUBLISH_CLIENT_SEND', topic: 'plant/#', allow: true };
  await change([
    { addAccountRole: { username: 'a', roleName: 'sensor' } },
    { putAclRule: { roleName: 'sensor', acl } },
    { createAccessGroup: { groupName: 'staff' } },
  ]);
  expect(await since(then)).toMatchObject({
    changes: [{ operation: 'changeAccessControl', actorName: 'root@example.com' }],
    usernames: ['a'],
    groupNames: ['staff'],
    roleNames: ['sensor'],
    concernsAll: false,
  });
  const lastOf = 'lastChanges(kind: ACCOUNT, names: ["a", "b", "none"]) { at actorName operation }';
  const of = `query ($b: ID!) { accessChanges(brokerId: $b, since: "2020-01-01T00:00:00Z") { ${lastOf} } }`;
  const [ofA, ofB, ofNone] = (await graph(of)).accessChanges.lastChanges;
  // The role of `b` was only previewed.
  expect(ofA.at > then && ofB.at < then).toBe(true);
  expect([ofA.actorName, ofA.operation, ofNone]).toEqual(['root@example.com', 'changeAccessControl', null]);
  await graph(PASSWORD);
  const [byPassword, unchanged] = (await graph(of)).accessChanges.lastChanges;
  expect(byPassword).toMatchObject({ actorName: 'root@example.com', operation: 'setAccountPassword' });
  expect(unchanged).toEqual(ofB);
  const last = next();
  await graph(DEFAULTS);
  expect(await since(last)).toMatchObject({ ...nothing, changes: [{}], changeCount: 1, concernsAll: true });
  expect(await since(then, { first: 1 })).toMatchObject({
    changes: [{ operation: 'setDefaultAcl' }],
    changeCount: 2,
  });

  // Before the service knew the broker, nothing is known.
  const early = await since('2020-01-01T00:00:00Z');
  expect(early).toMatchObject({ isComplete: false, previous: null });
  const { createdAt } = await service.storage.db.broker.findUniqueOrThrow({ where: { id: brokerId } });
  expect(Date.parse(early.knownSince)).toBeGreaterThanOrEqual(createdAt.getTime());

  expect(await refused(SINCE, { since: new Date(Date.now() + 60_000).toISOString() })).toMatchObject({
    extensions: { code: 'INVALID' },
  });
  const restricted = { projectId: service.projectId, name: 't', role: 'ADMIN', brokerIds: [brokerId] } as const;
  const { secret } = await service.services.tokens.issue(restricted, 'test');
  for (const token of [secret, (await service.person('EDITOR')).token])
    expect((await service.graphql(SINCE, { b: brokerId, since: then }, token)).errors).toMatchObject([
      { extensions: { code: 'NOT_ALLOWED' } },
    ]);
});
