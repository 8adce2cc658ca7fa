import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isLong, runs, suite } from '../../support/suite.ts';
import { dynsec, dynsecDone } from './dynsec.ts';
import { connect, control, startBrokerHere, startTestBroker } from './embedded.ts';

const NAMES = [
  ...['createClient', 'deleteClient', 'enableClient', 'disableClient', 'getClient', 'listClients', 'modifyClient'],
  ...['setClientId', 'setClientPassword', 'addClientRole', 'removeClientRole', 'createGroup', 'deleteGroup'],
  ...['getGroup', 'listGroups', 'modifyGroup', 'addGroupClient', 'removeGroupClient', 'addGroupRole'],
  ...['removeGroupRole', 'setAnonymousGroup', 'getAnonymousGroup', 'createRole', 'deleteRole', 'getRole'],
  ...['listRoles', 'modifyRole', 'addRoleACL', 'removeRoleACL', 'setDefaultACLAccess', 'getDefaultACLAccess'],
  'getDetails',
];
const FIELDS = [
  ...['username', 'groupname', 'rolename', 'clientid', 'password', 'textname', 'textdescription', 'priority'],
  ...['roles', 'groups', 'clients', 'acls', 'acltype', 'topic', 'allow', 'allowwildcardsubs', 'count', 'offset'],
  ...['verbose', 'correlationData', '__proto__', 'constructor', 'USERNAME'],
];
const name = fc.constantFrom('a', 'b', '__proto__', 'constructor', 'toString', '', '\0', '\ud800', '#', '$share/a/b');
const value = fc.oneof(
  { weight: 5, arbitrary: name as fc.Arbitrary<unknown> },
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(1e308, -1e308, 0.5, Number.MAX_SAFE_INTEGER, 'subscribePattern', 'publishClientSend'),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.array(
    fc.dictionary(fc.constantFrom('rolename', 'groupname', 'username', 'priority', 'acltype', 'topic', 'allow'), name),
    { maxLength: 4 },
  ),
);
const command = fc
  .tuple(fc.constantFrom(...NAMES), fc.dictionary(fc.constantFrom(...FIELDS), value))
  .map(([of, fields]) => {
    const { username: username_, ...rest } = fields;
    // Its own account is the way in.
    return { ...rest, ...(username_ === 'admin' ? {} : { username: username_ }), command: of };
  });

test('no command with random fields ends the broker, has no response, or causes a bug', async () => {
  const problems: string[] = [];
  const log = { info: () => {}, warn: (_: object, text: string) => void problems.push(text), error: () => {} };
  const { mqttPort } = await startTestBroker({ log });
  const client = await connect(mqttPort);
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 20 }), async (commands) => {
      const answers = await dynsec(client, ...commands);
      // Fewer where a correlation that is no text ended the batch.
      expect(answers.length).toBeGreaterThan(0);
      expect(answers.length).toBeLessThanOrEqual(commands.length);
    }),
    { numRuns: runs(400) },
  );
  expect(problems).toEqual([]);
  // What came of it can be read, and is the same after all of it was deleted by name.
  const [clients, groups, roles] = (await dynsecDone(
    client,
    { command: 'listClients' },
    { command: 'listGroups', verbose: true },
    { command: 'listRoles', verbose: true },
  )) as [{ clients: string[] }, { totalCount: number }, { totalCount: number }];
  expect(clients.clients).toContain('admin');
  expect(groups.totalCount + roles.totalCount).toBeGreaterThan(suite === 'short' ? 0 : 2);
});

test('invalid requests get a response, and the next request is served', async () => {
  const { mqttPort } = await startBrokerHere();
  const client = await connect(mqttPort);
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 60 }).map((array) => Buffer.from(array));
  const text = '{"commands":[{"command":"createClient","username":"name","roles":[{"rolename":"r"}]}]}';
  const damaged = fc.tuple(fc.nat(text.length - 1), fc.nat(255)).map(([at, byte]) => {
    const payload = Buffer.from(text);
    payload[at] = byte;
    return payload;
  });
  await fc.assert(
    fc.asyncProperty(fc.oneof(bytes, damaged), async (payload) => {
      expect(Array.isArray(await control(client, 'dynamic-security', payload))).toBe(true);
    }),
    { numRuns: runs(isLong ? 300 : 100) },
  );
  expect(await dynsecDone(client, { command: 'getDetails' })).toHaveLength(1);
});

test('a payload of thousands of commands is served completely', async () => {
  const { mqttPort } = await startBrokerHere();
  const client = await connect(mqttPort);
  const commands = Array.from({ length: 5_000 }, (_, index) => ({
    command: 'createClient',
    username: `client ${index}`,
    groups: [],
  }));
  const answers = await dynsec(client, ...commands);
  expect(answers).toHaveLength(commands.length);
  expect(answers.filter(({ error }) => error !== undefined)).toEqual([]);
  const [listed] = await dynsecDone(client, { command: 'listClients', count: 0, offset: 5_000 });
  expect(listed).toEqual({ totalCount: 5_001, clients: ['client 999'] });
});
