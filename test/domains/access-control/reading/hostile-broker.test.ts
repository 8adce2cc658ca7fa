import { expect, test } from 'vitest';
import { startTestService } from '../../../support/service.ts';
import { addBroker } from '../access-service.ts';
import { countedCommands, startDynsec } from './scripted-dynsec.ts';

const READ = `query ($b: ID!) {
  broker(id: $b) {
    accounts { nodes { username roles { roleName priority } groups { priority } } }
    accessRoles { nodes { roleName acls { priority allow } } }
  }
  explainAccess(brokerId: $b, username: "odd", action: SUBSCRIBE, topic: "a") { allowed lookedAt { priority } }
}`;

test('numbers beyond 32 bits are limited to the range of GraphQL', async () => {
  const broker = await startDynsec({ clients: 0 });
  broker.clients.set('odd', {
    username: 'odd',
    roles: [{ rolename: 'r', priority: 1e300 }],
    groups: [{ groupname: 'g', priority: -1e300 }],
  });
  broker.roles.set('r', {
    rolename: 'r',
    acls: [{ acltype: 'subscribeLiteral', topic: 'a', priority: 2 ** 31, allow: true }],
  });
  const service = await startTestService();
  const b = await addBroker(service, broker.url);

  const { data, errors } = await service.graphql(READ, { b });
  expect(errors).toBeUndefined();
  const [most, least] = [2 ** 31 - 1, -(2 ** 31)];
  expect(data.broker.accounts.nodes).toEqual([
    { username: 'odd', roles: [{ roleName: 'r', priority: most }], groups: [{ priority: least }] },
  ]);
  expect(data.broker.accessRoles.nodes).toEqual([{ roleName: 'r', acls: [{ priority: most, allow: true }] }]);
  expect(data.explainAccess).toEqual({ allowed: true, lookedAt: [{ priority: most }] });
});

const PLUGINS = `query ($b: ID!) {
  broker(id: $b) { plugins { name version endpoints } }
  explainAccess(brokerId: $b, username: "c0000", action: PUBLISH, topic: "a") { elsewhere }
}`;

test('the plugins of a broker are listed, and those that may decide are named in explanations', async () => {
  const broker = await startDynsec({ clients: 1, changeIndex: 1 });
  const endpoint = '$CONTROL/dynamic-security/v1';
  // Mosquitto 2.1.2 with its own plugins; then entries that no broker sends.
  const real = [
    { name: 'dynamic-security', 'control-endpoints': [endpoint] },
    { name: 'acl-file', 'control-endpoints': [] },
    { name: 'sparkplug-aware', version: '1.0', 'control-endpoints': [] },
  ];
  const odd = [null, 7, { version: '1' }, { name: 'x'.repeat(1_000), version: 1, 'control-endpoints': [endpoint, 7] }];
  broker.plugins = [...real, ...odd];
  const service = await startTestService();
  const b = await addBroker(service, broker.url);
  const { data, errors } = await service.graphql(PLUGINS, { b });
  expect(errors).toBeUndefined();
  expect(data.broker.plugins).toEqual([
    { name: 'dynamic-security', version: null, endpoints: [endpoint] },
    { name: 'acl-file', version: null, endpoints: [] },
    { name: 'sparkplug-aware', version: '1.0', endpoints: [] },
    { name: 'x'.repeat(255), version: null, endpoints: [endpoint] },
  ]);
  expect(data.explainAccess.elsewhere).toContain('"acl-file"');
  expect(data.explainAccess.elsewhere).not.toContain('sparkplug-aware');
  const before = countedCommands(broker.requests).listPlugins ?? 0;
  await service.graphql('query ($b: ID!) { explainAccess(brokerId: $b, action: PUBLISH, topic: "a") { elsewhere } }', {
    b,
  });
  expect(countedCommands(broker.requests).listPlugins).toBe(before);
});

const ADDRESSES =
  'query ($b: ID!) { broker(id: $b) { accounts { nodes { connectionAddresses { address source } connections { clientId } } } } }';

test('the addresses of the sessions of an account are those that Mosquitto 2.1 reports', async () => {
  const broker = await startDynsec({ clients: 0, changeIndex: 1 });
  const connections = [{ address: '127.0.0.1' }, { address: '::1' }, {}, null];
  broker.clients.set('dev', { username: 'dev', connections });
  broker.clients.set('off', { username: 'off', connections: [] });
  broker.clients.set('old', { username: 'old' });
  const service = await startTestService();
  const b = await addBroker(service, broker.url);
  const list = async () => (await service.graphql(ADDRESSES, { b })).data.broker.accounts.nodes;
  const source = 'BROKER';
  expect(await list()).toEqual([
    {
      connectionAddresses: ['127.0.0.1', '::1', null, null].map((address) => ({ address, source })),
      connections: null,
    },
    { connectionAddresses: [], connections: null },
    { connectionAddresses: null, connections: null },
  ]);
});

test('an account with a value that is nested thousands of levels deep is returned', async () => {
  const broker = await startDynsec({ clients: 60 });
  broker.clients.set('c0003', JSON.parse(`{"username":"c0003","x":${'['.repeat(4_000)}${']'.repeat(4_000)}}`));
  const service = await startTestService();
  const b = await addBroker(service, broker.url);
  const { data, errors } = await service.graphql(
    'query ($b: ID!) { broker(id: $b) { accounts(first: 1, filter: { value: "c0003" }) { totalCount nodes { username } } } }',
    { b },
  );
  expect(errors).toBeUndefined();
  expect(data.broker.accounts).toEqual({ totalCount: 1, nodes: [{ username: 'c0003' }] });
});

const CHANGE =
  'mutation ($b: ID!) { deleteAccessRole(input: { brokerId: $b, change: { roleName: "r" } }) { outcome } }';

test('a change is refused after a few pages where the list of accounts repeats one entry without end', async () => {
  const broker = await startDynsec({ clients: 0 });
  broker.endless = () => ({ username: 'same' });
  const service = await startTestService();
  const b = await addBroker(service, broker.url);
  const { errors } = await service.graphql(CHANGE, { b });
  expect(errors).toMatchObject([{ extensions: { code: 'BROKER_REJECTED' } }]);
  expect(countedCommands(broker.requests).listClients).toBeLessThan(1_000);
  // One that ends is read again.
  broker.endless = null;
  broker.roles.set('r', { rolename: 'r', acls: [] });
  const { data } = await service.graphql(READ, { b });
  expect(data.broker.accessRoles.nodes).toMatchObject([{ roleName: 'r' }]);
});
