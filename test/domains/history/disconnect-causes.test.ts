import { expect, test } from 'vitest';
import { capitalized } from '../../../src/platform/text/capitalized.ts';
import { accessWorld, KINDS } from '../access-control/access-service.ts';
import { eventsOf } from './event-pages.ts';

const CHANGE = `mutation ($b: ID!, $changes: [AccessChangeInput!]!) {
  changeAccessControl(input: { brokerId: $b, changes: $changes }) { outcome } }`;
const APPLY = `mutation ($b: ID!, $document: JSON!) {
  applyAccessControl(input: { brokerId: $b, document: $document }) { outcome } }`;
const DELETE = 'mutation ($input: DeleteAccountInput!) { deleteAccount(input: $input) { outcome } }';
const EXPORT = 'query ($b: ID!) { exportAccessControl(brokerId: $b) }';

const username = 'meter';
const acl = { aclType: 'SUBSCRIBE_PATTERN', topic: 'extra/#', allow: true, priority: 1 };

/** What one mutation changes, in an order in which each one disconnects the clients of the account. */
const CHANGES: readonly (readonly [string, object])[] = [
  ['addAccountRole', { username, roleName: 'other' }],
  ['removeAccountRole', { username, roleName: 'other' }],
  ['removeAccountGroup', { username, groupName: 'sensors' }],
  ['addAccountGroup', { username, groupName: 'sensors' }],
  ['addAccessGroupRole', { groupName: 'sensors', roleName: 'other' }],
  ['removeAccessGroupRole', { groupName: 'sensors', roleName: 'other' }],
  ['putAclRule', { roleName: 'sensor', acl }],
  ['removeAclRule', { roleName: 'sensor', aclType: acl.aclType, topic: acl.topic }],
  ['updateAccount', { username, textName: 'Meter' }],
  ['updateAccessGroup', { groupName: 'sensors', textName: 'Sensors' }],
  ['setAccountPassword', { username, password: 'new' }],
  ['deleteAccessRole', { roleName: 'sensor' }],
  ['deleteAccessGroup', { groupName: 'sensors' }],
  ['setAccountEnabled', { username, enabled: false }],
];

for (const kind of KINDS) {
  test(`each change of access control that disconnects a client of ${kind} is the operation of its event`, async () => {
    const world = await accessWorld(kind);
    const { service, brokerId, graph } = world;
    let password = 'old';
    await graph(CHANGE, {
      changes: [
        { createAccessRole: { roleName: 'sensor', acls: [{ ...acl, topic: 'first/#' }] } },
        { createAccessRole: { roleName: 'other' } },
        { createAccessGroup: { groupName: 'sensors', roles: [{ roleName: 'sensor' }] } },
        { createAccount: { username, password, groups: [{ groupName: 'sensors' }] } },
      ],
    });
    const seen = new Map<string, unknown>();
    const disconnects = async (operation: string, cause: () => Promise<unknown>, account: object) => {
      const client = await world.client({ clientId: operation, ...account, reconnectPeriod: 0 });
      const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
      await cause();
      await closed;
      const read = () => eventsOf(service, brokerId, { clientId: operation, kinds: ['DISCONNECTED'] });
      await expect.poll(async () => (await read()).length, { timeout: 30_000 }).toBe(1);
      const [event] = await read();
      seen.set(operation, [event?.reason, event?.operation?.operation]);
    };
    for (const [operation, change] of CHANGES) {
      const type = `${capitalized(operation)}Input`;
      const document = `mutation ($input: ${type}!) { ${operation}(input: $input) { outcome } }`;
      await disconnects(operation, () => graph(document, { input: { brokerId, change } }), { username, password });
      if ('password' in change) password = String(change.password);
    }
    const enable = { setAccountEnabled: { username, enabled: true } };
    await graph(CHANGE, { changes: [enable] });
    const addRole = { addAccountRole: { username, roleName: 'other' } };
    await disconnects('changeAccessControl', () => graph(CHANGE, { changes: [addRole] }), { username, password });
    const { exportAccessControl: document } = await graph(EXPORT);
    const meter = document.clients.find((one: { readonly username: string }) => one.username === username);
    meter.roles = [];
    await disconnects('applyAccessControl', () => graph(APPLY, { document }), { username, password });
    const removal = { input: { brokerId, change: { username } } };
    await disconnects('deleteAccount', () => graph(DELETE, removal), { username, password });

    const operations = [...CHANGES.map(([operation]) => operation), 'changeAccessControl', 'applyAccessControl'];
    expect(Object.fromEntries(seen)).toEqual(
      Object.fromEntries([...operations, 'deleteAccount'].map((name) => [name, ['ADMINISTRATOR', name]])),
    );
  });
}
