import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ServiceError } from '../../../../src/platform/errors.ts';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { runs } from '../../../support/suite.ts';
import { documentOf, parseMosquittoFile } from '../at-once.ts';
import { openAccess } from './opened-access.ts';

const COMMANDS = [
  { command: 'createRole', rolename: 'writer', textname: 'Writer', textdescription: 'writes' },
  ...['b/#', 'a/#', 'ä/+'].map((topic) => ({
    command: 'addRoleACL',
    ...{ rolename: 'writer', acltype: 'publishClientSend', topic, allow: topic !== 'a/#', priority: 0 },
  })),
  { command: 'addRoleACL', rolename: 'writer', acltype: 'subscribeLiteral', topic: 'c', allow: true, priority: -5 },
  { command: 'addRoleACL', rolename: 'writer', acltype: 'unsubscribePattern', topic: '#', allow: true, priority: 9 },
  { command: 'createRole', rolename: '🜁 /+#%' },
  { command: 'createGroup', groupname: 'plants', textname: 'Plants' },
  { command: 'addGroupRole', groupname: 'plants', rolename: 'writer', priority: 3 },
  { command: 'createGroup', groupname: 'guests' },
  {
    command: 'createClient',
    username: 'ann',
    password: 'secret',
    clientid: 'c1',
    textname: 'Ann',
    textdescription: 'd',
  },
  { command: 'createClient', username: 'bob/ 🜁' },
  { command: 'addClientRole', username: 'ann', rolename: '🜁 /+#%', priority: 7 },
  { command: 'addClientRole', username: 'ann', rolename: 'writer' },
  { command: 'addGroupClient', groupname: 'plants', username: 'ann', priority: 2 },
  { command: 'addGroupClient', groupname: 'guests', username: 'bob/ 🜁' },
  { command: 'disableClient', username: 'bob/ 🜁' },
  { command: 'setDefaultACLAccess', acls: [{ acltype: 'publishClientSend', allow: true }] },
  { command: 'setAnonymousGroup', groupname: 'guests' },
];

test('the file that a real Mosquitto keeps gives the same document as asking that Mosquitto', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const { controls, index } = await openAccess(broker);
  const results = await controls.callAll(
    'dynamic-security',
    COMMANDS.map(({ command, ...fields }) => ({ command, fields })),
  );
  expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);
  const exported = documentOf((await index.current()).policy);
  expect(exported.clients.map(({ username }) => username)).toEqual(['admin', 'ann', 'bob/ 🜁']);

  await broker.stop();
  const { document, warnings } = parseMosquittoFile(broker.readAccessFile());
  expect(document).toEqual(exported);
  expect(warnings).toEqual([expect.stringMatching(/hashes.*"admin", "ann"\.$/)]);
  expect(JSON.stringify(document)).not.toMatch(/password|salt|iterations/);
});

test('the file that mosquitto_ctrl makes is read, whose keys are spelled otherwise', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const text = broker.readAccessFile();
  expect(text).toContain('textName');
  const { document } = parseMosquittoFile(text);
  expect(document.clients).toEqual([{ username: 'admin', textName: expect.any(String), roles: [{ name: 'admin' }] }]);
  const { index } = await openAccess(broker);
  expect(documentOf((await index.current()).policy)).toEqual(document);
});

test('the file of Mosquitto 2.1 is read with what 2.0 does not have', () => {
  const { document, warnings } = parseMosquittoFile(
    JSON.stringify({
      changeIndex: 35,
      defaultACLAccess: { publishClientSend: false, publishClientReceive: true, subscribe: false, unsubscribe: true },
      clients: [{ username: 'ann', textName: 'Ann', encoded_password: '$7$1000$c2FsdA==$aGFzaA==', roles: [] }],
      groups: [{ groupname: 'unauthenticated', roles: [{ rolename: 'client' }], clients: [{ username: 'ann' }] }],
      roles: [
        {
          rolename: 'client',
          allowwildcardsubs: false,
          acls: [{ acltype: 'publishClientSend', topic: '%u/#', priority: 0, allow: true }],
        },
        { rolename: 'other', allowwildcardsubs: true, acls: [] },
      ],
      anonymousGroup: 'unauthenticated',
    }),
  );
  expect(document).toMatchObject({
    anonymousGroup: 'unauthenticated',
    roles: [
      {
        rolename: 'client',
        allowWildcardSubs: false,
        acls: [{ aclType: 'publishClientSend', topic: '%u/#', allow: true }],
      },
      { rolename: 'other' },
    ],
    groups: [{ groupname: 'unauthenticated', roles: [{ name: 'client' }] }],
    clients: [{ username: 'ann', textName: 'Ann', groups: [{ name: 'unauthenticated' }] }],
  });
  expect(warnings).toHaveLength(1);
});

test('values that a document cannot contain are omitted, with one warning per reason', () => {
  const { document, warnings } = parseMosquittoFile(
    JSON.stringify({
      clients: [
        { username: 'ann', roles: [{ rolename: 'r' }, { rolename: 'gone' }, 7], priority: 1 },
        { username: 'ann', roles: [{ rolename: 'r', priority: 1e9 }] },
        { username: 'bob', clientid: 'a\nb' },
        { username: '' },
        { name: 'nameless' },
        null,
      ],
      groups: [{ groupname: 'g', clients: [{ username: 'nobody' }, { username: 'ann' }, { username: 'ann' }] }],
      roles: [
        {
          rolename: 'r',
          acls: [
            { acltype: 'PUBLISHCLIENTSEND', topic: 'a' },
            { acltype: 'publish', topic: 'a', allow: true },
            { acltype: 'publishClientSend', topic: 'a/#/b', allow: true },
            { acltype: 'publishClientSend', allow: true },
          ],
        },
      ],
      anonymousGroup: 'gone',
    }),
  );
  expect(document).toMatchObject({
    defaultAcl: { publishClientSend: false, publishClientReceive: false, subscribe: false, unsubscribe: false },
    roles: [{ rolename: 'r', acls: [{ aclType: 'publishClientSend', topic: 'a', allow: false }] }],
    clients: [
      { username: 'ann', roles: [{ name: 'r', priority: 100_000 }], groups: [{ name: 'g' }] },
      // Without its client id it would be open to every client.
      { username: 'bob', disabled: true },
    ],
  });
  expect('anonymousGroup' in document).toBe(false);
  expect(warnings.map((warning) => warning.split(':')[0])).toHaveLength(7);
  expect(new Set(warnings).size).toBe(7);
});

test('what is no such file is INVALID, whatever it is', () => {
  for (const text of ['', '{', '[]', 'null', '{}', '{"listeners":[]}']) {
    expect(() => parseMosquittoFile(text), text).toThrow(ServiceError);
  }
  // The parser's own words quote what it stumbled over.
  expect(() => parseMosquittoFile('{"clients":[{"password":"c2VjcmV0", salt}]}')).toThrow(
    expect.objectContaining({ info: { issues: [{ path: '/', reason: 'is not JSON' }] } }),
  );
  const keys = fc.constantFrom(
    'clients',
    'groups',
    'roles',
    'username',
    'rolename',
    'groupname',
    'acls',
    'topic',
    'Roles',
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      fc.jsonValue({ maxDepth: 1 }),
      fc.array(tie('tree')),
      fc.dictionary(keys, tie('tree')),
    ),
  }));
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        tree.map((value) => JSON.stringify({ clients: value, groups: value, roles: value })),
      ),
      (text) => {
        try {
          parseMosquittoFile(text);
        } catch (error) {
          expect(error).toMatchObject({ code: 'INVALID' });
        }
      },
    ),
    { numRuns: runs(300) },
  );
});

test.each([
  ['{"roles":[],"roles":[]}', '/roles', 'is present more than once'],
  [
    '{"clients":[{"username":"ann","Disabled":true,"disabled":false}]}',
    '/clients/0/disabled',
    'is present more than once',
  ],
  [`{"roles":[],"x":{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":0`)}}}`, '/', expect.any(String)],
])('a file with repeated keys, or too many names, is refused (%#)', (text, path, reason) => {
  expect(() => parseMosquittoFile(text)).toThrow(expect.objectContaining({ info: { issues: [{ path, reason }] } }));
});
