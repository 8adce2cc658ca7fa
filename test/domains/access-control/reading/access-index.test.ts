import fc from 'fast-check';
import type { MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { AccessIndex, type AccessIndexOptions } from '../../../../src/domains/access-control/reading/access-index.ts';
import type { TouchedObject } from '../../../../src/domains/access-control/writing/access-plan.ts';
import type { AccessPolicy } from '../../../../src/protocol/apis/access-control/access-model.ts';
import { BrokerControls } from '../../../../src/protocol/control/broker-controls.ts';
import { DYNSEC_API } from '../../../../src/protocol/control/dynamic-security.ts';
import type { ControlCall } from '../../../../src/protocol/control/plugin.ts';
import type { BrokerLink } from '../../../../src/protocol/mqtt/broker-link.ts';
import { startTestBroker } from '../../../data-plane/broker/embedded.ts';
import { connectedLink, reached } from '../../../support/link.ts';
import { ADMIN, startMosquitto } from '../../../support/mosquitto.ts';
import { runs } from '../../../support/suite.ts';
import { mosquittoDialect } from '../dialects.ts';
import { countedCommands, startDynsec } from './scripted-dynsec.ts';

interface Opened {
  readonly link: BrokerLink;
  readonly controls: BrokerControls;
  readonly index: AccessIndex;
}

async function openIndex(url: string, options: Partial<AccessIndexOptions> = {}): Promise<Opened> {
  const link = await connectedLink({ url, ...ADMIN });
  const controls = new BrokerControls(link, { timeoutMs: 30_000, silenceMs: 3_000 });
  const index = new AccessIndex({ controls, session: link, ...options });
  onTestFinished(async () => {
    index.close();
    await controls.close();
  });
  return { link, controls, index };
}

const send = async (controls: BrokerControls, ...commands: ControlCall[]) => {
  const results = await controls.callAll(DYNSEC_API, commands);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
};

/** Sends a command as another administrator's tool does, and waits until the broker has answered it. */
async function sendForeign(client: MqttClient, command: Record<string, unknown>): Promise<void> {
  await client.subscribeAsync('$CONTROL/dynamic-security/v1/response');
  const answered = new Promise<void>((resolve) => {
    const listener = (_topic: string, payload: Buffer) => {
      if (!payload.toString().includes(`"${command.command}"`)) return;
      client.off('message', listener);
      resolve();
    };
    client.on('message', listener);
  });
  await client.publishAsync('$CONTROL/dynamic-security/v1', JSON.stringify({ commands: [command] }));
  await answered;
}

test('a broker is read whole: clients, groups with their members, roles, defaults, the anonymous group', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const { controls, index } = await openIndex(broker.url, { brokerVersion: () => 'mosquitto version 2.0.11' });
  await send(
    controls,
    {
      command: 'createRole',
      fields: { rolename: 'r', acls: [{ acltype: 'subscribePattern', topic: 'a/#', allow: true }] },
    },
    { command: 'createGroup', fields: { groupname: 'g', textname: 'G' } },
    { command: 'createClient', fields: { username: 'u', password: 'p', clientid: 'only' } },
    { command: 'addClientRole', fields: { username: 'u', rolename: 'r', priority: 5 } },
    { command: 'addGroupClient', fields: { groupname: 'g', username: 'u', priority: 3 } },
    { command: 'setAnonymousGroup', fields: { groupname: 'g' } },
  );
  const snapshot = await index.read();
  const { policy } = snapshot;
  expect([...policy.clients.keys()]).toEqual(['admin', 'u']);
  expect(policy.clients.get('u')).toEqual({
    username: 'u',
    clientId: 'only',
    textName: null,
    textDescription: null,
    disabled: false,
    roles: [{ name: 'r', priority: 5 }],
    groups: [{ name: 'g', priority: 3 }],
  });
  expect(snapshot.lists.members).toEqual(new Map([['g', [{ id: 'u', priority: 3 }]]]));
  expect(policy.roles.get('r')?.acls).toEqual([
    { aclType: 'subscribePattern', topic: 'a/#', priority: 0, allow: true },
  ]);
  expect(policy.defaultAcl).toEqual({
    publishClientSend: false,
    publishClientReceive: true,
    subscribe: false,
    unsubscribe: true,
  });
  expect(policy.anonymousGroup).toBe('g');
  expect(snapshot).toMatchObject({ isSettled: true, unreadable: 0, dialect: mosquittoDialect() });
  expect(snapshot.changeIndex).toEqual(mosquittoDialect().changeIndex ? expect.any(Number) : null);
});

test('what is known is answered without asking; who ask at the same time share one filling', async () => {
  const broker = await startDynsec({ clients: 300 });
  const { index } = await openIndex(broker.url);
  const [one, two] = await Promise.all([index.read(), index.read()]);
  expect(one).toBe(two);
  const asked = broker.requests.length;
  expect(await index.read()).toBe(one);
  expect(broker.requests).toHaveLength(asked);
  expect(countedCommands(broker.requests).listClients).toBeGreaterThan(2);
});

test('a write of another client is noticed immediately, and only the lists that it can change are read again', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const { index } = await openIndex(broker.url);
  const before = await index.read();
  const other = await broker.client();
  await sendForeign(other, { command: 'createRole', rolename: 'new' });
  // The same connection delivers the response to the write before this one.
  const after = await index.current();
  expect([...after.policy.roles.keys()]).toEqual(['admin', 'new']);
  // With a change index, all lists are read again, because a write that was not observed may have changed them.
  expect(after.policy.clients === before.policy.clients).toBe(!mosquittoDialect().changeIndex);
  await sendForeign(other, { command: 'getRole', rolename: 'new' });
  expect((await index.current()).policy).toBe(after.policy);
  await sendForeign(other, {
    command: 'setDefaultACLAccess',
    acls: [{ acltype: 'subscribe', allow: true }],
  });
  expect((await index.current()).policy.defaultAcl.subscribe).toBe(true);
});

test('own writes are put in by a refresh: one payload for what was touched', async () => {
  const broker = await startDynsec({ clients: 300 });
  const { index } = await openIndex(broker.url);
  await index.read();
  broker.clients.set('c0007', { username: 'c0007', textname: 'changed' });
  broker.clients.delete('c0008');
  broker.clients.set('new', { username: 'new', groups: [{ groupname: 'all', priority: 2 }] });
  const asked = broker.requests.length;
  const snapshot = await index.refresh([
    { kind: 'CLIENT', name: 'c0007' },
    { kind: 'CLIENT', name: 'c0008' },
    { kind: 'CLIENT', name: 'new' },
    { kind: 'DEFAULT_ACL' },
  ]);
  expect(broker.requests).toHaveLength(asked + 1);
  expect(snapshot.policy.clients.get('c0007')?.textName).toBe('changed');
  expect(snapshot.policy.clients.has('c0008')).toBe(false);
  expect(snapshot.lists.members.get('all')).toEqual([{ id: 'new', priority: 2 }]);
  expect(await index.read()).toBe(snapshot);
});

test('a group that is read again updates its members, and removed objects are removed from their holders', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const { controls, index } = await openIndex(broker.url);
  await send(
    controls,
    { command: 'createRole', fields: { rolename: 'r' } },
    { command: 'createGroup', fields: { groupname: 'g' } },
    { command: 'addGroupRole', fields: { groupname: 'g', rolename: 'r' } },
    { command: 'createClient', fields: { username: 'u' } },
    { command: 'createClient', fields: { username: 'v' } },
    { command: 'addClientRole', fields: { username: 'u', rolename: 'r' } },
    { command: 'addGroupClient', fields: { groupname: 'g', username: 'u' } },
  );
  await index.read();
  await send(
    controls,
    { command: 'removeGroupClient', fields: { groupname: 'g', username: 'u' } },
    { command: 'addGroupClient', fields: { groupname: 'g', username: 'v', priority: 4 } },
    { command: 'deleteRole', fields: { rolename: 'r' } },
  );
  const { policy, lists } = await index.refresh([
    { kind: 'GROUP', name: 'g' },
    { kind: 'ROLE', name: 'r' },
  ]);
  expect(lists.members).toEqual(new Map([['g', [{ id: 'v', priority: 4 }]]]));
  expect(policy.clients.get('u')).toMatchObject({ roles: [], groups: [] });
  expect(policy.groups.get('g')?.roles).toEqual([]);
  await send(controls, { command: 'deleteGroup', fields: { groupname: 'g' } });
  expect((await index.refresh([{ kind: 'GROUP', name: 'g' }])).policy.clients.get('v')?.groups).toEqual([]);
});

test('without a change index it is read again by age, with one when the index moved', async () => {
  const old = await startDynsec({ clients: 3 });
  const aged = await openIndex(old.url, { maxAgeMs: 0 });
  await aged.index.read();
  old.clients.delete('c0001');
  old.clients.set('x', { username: 'x' });
  expect((await aged.index.read()).policy.clients.has('x')).toBe(true);

  const broker = await startDynsec({ clients: 3, changeIndex: 7 });
  const { index } = await openIndex(broker.url, { checkMs: 0, maxAgeMs: 0 });
  const before = await index.read();
  expect(before).toMatchObject({ changeIndex: 7, dialect: { changeIndex: true, substitution: true } });
  const { getDetails = 0, ...others } = countedCommands(broker.requests);
  expect((await index.read()).policy).toBe(before.policy);
  // Mosquitto 2.1 logs each command.
  expect(countedCommands(broker.requests)).toEqual({ ...others, getDetails: getDetails + 1 });
  broker.clients.delete('c0001');
  broker.clients.set('x', { username: 'x' });
  broker.changeIndex = 8;
  const after = await index.read();
  expect(after.changeIndex).toBe(8);
  expect(after.policy.clients.has('x')).toBe(true);
});

test('a change index is asked for at most every second for reading, and always for what is current', async () => {
  const broker = await startDynsec({ clients: 3, changeIndex: 7 });
  const { index } = await openIndex(broker.url);
  await index.read();
  const asked = broker.requests.length;
  await index.read();
  expect(broker.requests).toHaveLength(asked);
  await index.current();
  expect(broker.requests).toHaveLength(asked + 1);
});

test('a reader that may be late asks less often, and learns of each write whose response it sees', async () => {
  const broker = await startDynsec({ clients: 3, changeIndex: 7 });
  const { index } = await openIndex(broker.url, { checkMs: 0 });
  const read = () => index.read(3_600_000);
  const before = await read();
  const asked = broker.requests.length;
  broker.clients.set('unseen', { username: 'unseen' });
  broker.changeIndex = 8;
  expect(await read()).toBe(before);
  expect(broker.requests).toHaveLength(asked);
  expect((await index.read()).policy.clients.has('unseen')).toBe(true);
  broker.clients.set('seen', { username: 'seen' });
  broker.changeIndex = 9;
  const response = { responses: [{ command: 'createClient', correlationData: 'of another' }] };
  await broker.publish('$CONTROL/dynamic-security/v1/response', JSON.stringify(response));
  await expect.poll(async () => (await read()).policy.clients.has('seen')).toBe(true);
});

test('a list that changes while it is read is read again, and a permanently changing policy is not settled', async () => {
  const broker = await startDynsec({ clients: 300 });
  let left = 1;
  broker.beforePage = (offset) => {
    if (offset === 0 || left-- <= 0) return;
    // One goes before the page and one comes behind it: the size is the same, and the page would miss one.
    broker.clients.delete('c0000');
    broker.clients.set('zzz', { username: 'zzz' });
  };
  const { index } = await openIndex(broker.url);
  const settled = await index.read();
  expect(settled.isSettled).toBe(true);
  expect([...settled.policy.clients.keys()].sort()).toEqual([...broker.clients.keys()].sort());

  let count = 0;
  broker.beforePage = (offset) => {
    if (offset > 0) broker.clients.set(`a${count++}`, { username: `a${count}` });
  };
  index.invalidate();
  const restless = await index.read();
  expect(restless.isSettled).toBe(false);
  expect(restless.policy.clients.size).toBeGreaterThan(299);
  await expect(index.current()).rejects.toMatchObject({ code: 'BROKER_TIMEOUT' });
  broker.beforePage = () => undefined;
  expect(await index.current()).toMatchObject({ isSettled: true });
});

test('a lost connection lets everything go, and the error is the broker’s', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const { link, controls, index } = await openIndex(broker.url);
  await send(controls, { command: 'createRole', fields: { rolename: 'kept' } });
  await index.read();
  const down = reached(link, 'UNREACHABLE');
  await broker.stop();
  await down;
  await expect(index.read()).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
  await broker.start();
  await reached(link, 'CONNECTED');
  expect([...(await index.read()).policy.roles.keys()]).toEqual(['admin', 'kept']);
  index.close();
  await expect(index.read()).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
});

test('a broker without dynamic security is not supported, with what would help', async () => {
  const broker = await startMosquitto();
  const { index } = await openIndex(broker.url);
  await expect(index.read()).rejects.toMatchObject({
    code: 'NOT_SUPPORTED_BY_BROKER',
    message: expect.stringContaining('mosquitto_dynamic_security.so'),
  });
});

test('more objects than the bound are an error, and not a part of the truth', async () => {
  const broker = await startDynsec({ clients: 120 });
  const { index } = await openIndex(broker.url, { maxObjects: 100 });
  await expect(index.read()).rejects.toMatchObject({ code: 'TOO_LARGE' });
});

/** A write as the wire has it, and what it touches. */
type Write = readonly [ControlCall, TouchedObject[]];

const name = fc.constantFrom('a', 'b', 'c');
const priority = fc.constantFrom(-1, 0, 5);
const client = (username: string): TouchedObject => ({ kind: 'CLIENT', name: username });
const group = (groupname: string): TouchedObject => ({ kind: 'GROUP', name: groupname });
const role = (rolename: string): TouchedObject => ({ kind: 'ROLE', name: rolename });
const on = (command: string, fields: Record<string, unknown>, ...touched: TouchedObject[]): Write => [
  { command, fields },
  touched,
];

/** Without roles on creation and without deleting the anonymous group, because both crash Mosquitto 2.0.11. */
const write: fc.Arbitrary<Write> = fc.oneof(
  name.map((n) => on('createClient', { username: n, textname: n }, client(n))),
  name.map((n) => on('deleteClient', { username: n }, client(n))),
  name.map((n) => on('disableClient', { username: n }, client(n))),
  name.map((n) => on('enableClient', { username: n }, client(n))),
  name.map((n) => on('createGroup', { groupname: n }, group(n))),
  name.map((n) => on('deleteGroup', { groupname: n }, group(n))),
  name.map((n) => on('createRole', { rolename: n, acls: [] }, role(n))),
  name.map((n) => on('deleteRole', { rolename: n }, role(n))),
  fc
    .tuple(name, name, priority)
    .map(([u, r, p]) => on('addClientRole', { username: u, rolename: r, priority: p }, client(u))),
  fc.tuple(name, name).map(([u, r]) => on('removeClientRole', { username: u, rolename: r }, client(u))),
  fc
    .tuple(name, name, priority)
    .map(([g, r, p]) => on('addGroupRole', { groupname: g, rolename: r, priority: p }, group(g))),
  fc.tuple(name, name).map(([g, r]) => on('removeGroupRole', { groupname: g, rolename: r }, group(g))),
  fc
    .tuple(name, name, priority)
    .map(([g, u, p]) =>
      on('addGroupClient', { groupname: g, username: u, priority: p }, group(g), { kind: 'CLIENT', name: u }),
    ),
  // The group alone is enough, because it lists its members.
  fc.tuple(name, name).map(([g, u]) => on('removeGroupClient', { groupname: g, username: u }, group(g))),
  fc
    .tuple(name, fc.constantFrom('x', 'y/#'), priority, fc.boolean())
    .map(([r, topic, p, allow]) =>
      on('addRoleACL', { rolename: r, acltype: 'subscribePattern', topic, priority: p, allow }, role(r)),
    ),
  fc
    .boolean()
    .map((allow) => on('setDefaultACLAccess', { acls: [{ acltype: 'subscribe', allow }] }, { kind: 'DEFAULT_ACL' })),
);

/** `refresh` requires the former holders of a role that is deleted and created again, so there is none. */
function withoutRebirths(batch: readonly Write[]): Write[] {
  const deleted = new Set<unknown>();
  return batch.filter(([{ command, fields }]) => {
    if (command === 'deleteRole') deleted.add(fields?.rolename);
    return command !== 'createRole' || !deleted.has(fields?.rolename);
  });
}

const plain = (policy: AccessPolicy) => ({
  ...policy,
  clients: new Map([...policy.clients].sort()),
  groups: new Map([...policy.groups].sort()),
  roles: new Map([...policy.roles].sort()),
});

test.each([
  ['Mosquitto', async () => (await startMosquitto({ access: 'dynsec' })).url],
  ['the embedded broker', async () => `mqtt://127.0.0.1:${(await startTestBroker()).mqttPort}`],
])('after any writes to %s a refresh equals a new read of the whole policy', async (_name, start) => {
  const { controls, index } = await openIndex(await start());
  const fresh = new AccessIndex({ controls, session: { onStatus: () => () => undefined } });
  onTestFinished(() => fresh.close());
  await index.read();
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(write, { minLength: 1, maxLength: 6 }), { maxLength: 12 }), async (batches) => {
      for (const batch of batches.map(withoutRebirths)) {
        await controls.callAll(
          DYNSEC_API,
          batch.map(([call]) => call),
        );
        const refreshed = await index.refresh(batch.flatMap(([, objects]) => objects));
        fresh.invalidate();
        expect(plain(refreshed.policy)).toEqual(plain((await fresh.read()).policy));
        expect(refreshed.isSettled).toBe(true);
      }
    }),
    { numRuns: runs(40) },
  );
});

test('an update that takes too long fails, and the next one reads again', async () => {
  const broker = await startDynsec({ clients: 3 });
  const { index } = await openIndex(broker.url, { fillMs: 300 });
  broker.endless = (offset) => ({ username: `c${offset}` });
  await expect(index.current()).rejects.toMatchObject({ code: 'BROKER_TIMEOUT' });
  broker.endless = null;
  const read = () =>
    index.current().then(
      ({ policy }) => policy.clients.size,
      () => null,
    );
  await expect.poll(read).toBe(3);
});
