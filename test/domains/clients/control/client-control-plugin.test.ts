import { expect, test, vi } from 'vitest';
import { disconnectClient } from '../../../../src/protocol/apis/clients/client-control.ts';
import { getClient, listClients } from '../../../../src/protocol/apis/clients/inspect-control.ts';
import type { BrokerControls } from '../../../../src/protocol/control/broker-controls.ts';
import { freePort } from '../../../support/free-port.ts';
import { connectedLink } from '../../../support/link.ts';
import { ADMIN, FOLLOWED_LOG, type Mosquitto, startClient, startMosquitto } from '../../../support/mosquitto.ts';
import { mosquittoDialect } from '../../access-control/dialects.ts';
import { closed, comeBack, follow, isUp, startFollowed } from './followed-mosquitto.ts';

const DYNSEC = 'dynamic-security';
/** The file of dynamic security without the counter of changes, which Mosquitto 2.1 has. */
function contentOf(broker: Mosquitto): unknown {
  const { changeIndex: _, ...content } = JSON.parse(broker.readAccessFile());
  return content;
}
const KEPT = { clean: false, protocolVersion: 5, properties: { sessionExpiryInterval: 600 } } as const;

test('a client that is alone on its account is disconnected, and nothing else changes', async () => {
  const { broker, controls, device } = await startFollowed();
  const will = { topic: 'will', payload: Buffer.from('sent'), qos: 1, retain: false } as const;
  const client = await device('alone', { ...KEPT, will });
  await client.subscribeAsync('to/alone', { qos: 1 });
  const other = await device('other', { username: 'u2' });
  const heard: string[] = [];
  other.on('message', (topic) => heard.push(topic));
  await other.subscribeAsync(['will', 'last'], { qos: 1 });
  const account = await controls.call(DYNSEC, 'getClient', { username: 'u1' });
  const file = contentOf(broker);
  const reasons: unknown[] = [];
  client.on('disconnect', ({ reasonCode }) => reasons.push(reasonCode));
  const gone = closed(client);

  const done = await disconnectClient(controls, { clientid: 'alone' });
  expect(done).toEqual({ method: 'ACCOUNT', clientids: ['alone'] });
  expect(await getClient(controls, 'alone')).toMatchObject({
    connected: false,
    disconnectReason: 'administrative action',
  });
  await gone;
  expect(reasons).toEqual([152]);
  expect(await isUp(other)).toBe(true);
  expect(await controls.call(DYNSEC, 'getClient', { username: 'u1' })).toEqual(account);
  expect(contentOf(broker)).toEqual(file);

  await other.publishAsync('to/alone', 'meanwhile', { qos: 1 });
  const back = await comeBack(broker.url, { clientId: 'alone', username: 'u1', password: 'u1', ...KEPT });
  expect(back.sessionPresent).toBe(true);
  await expect.poll(() => back.messages).toEqual(['meanwhile']);
  await other.publishAsync('last', '', { qos: 1 });
  await expect.poll(() => heard).toContain('last');
  expect(heard).not.toContain('will');
});

test('a missing client cannot be disconnected, and the error says why', async () => {
  const { link, controls, device } = await startFollowed();
  await (await device('kept', KEPT)).endAsync();
  await expect.poll(() => getClient(controls, 'kept').catch(() => null)).toMatchObject({ connected: false });
  const refusal = (clientid: string) => disconnectClient(controls, { clientid }).catch((error: unknown) => error);
  expect(await refusal('kept')).toMatchObject({ code: 'NOT_FOUND', message: expect.stringContaining('not connected') });
  expect(await refusal('nobody')).toMatchObject({ code: 'NOT_FOUND', info: { brokerError: 'Client not found' } });
  expect(await refusal(link.clientId)).toMatchObject({ code: 'IN_USE' });
  expect(await refusal(`${link.clientId}-observer`)).toMatchObject({ code: 'IN_USE' });
  expect(await refusal('')).toMatchObject({ code: 'INVALID' });
  await expect(controls.call('cedalo/client-control', 'banClient', {})).rejects.toMatchObject({
    code: 'NOT_SUPPORTED_BY_BROKER',
  });
});

test('a client that is alone on a freshly started broker is disconnected immediately', async () => {
  const { controls, device } = await startFollowed({ sysInterval: 100 }, async (broker) => {
    // The broker counts only when it starts.
    await broker.stop();
    await broker.start();
  });
  await device('first');
  await expect.poll(() => getClient(controls, 'first').catch(() => null)).not.toBeNull();
  expect(await disconnectClient(controls, { clientid: 'first' })).toMatchObject({ clientids: ['first'] });
  expect((await listClients(controls)).unknownConnections).toBeUndefined();
});

test('a shared account is refused with the ids of the other clients, and disconnected as a whole with force', async () => {
  const { controls, device } = await startFollowed();
  const clients = await Promise.all(['a', 'b', 'c'].map((id) => device(id)));
  const other = await device('other', { username: 'u2' });
  await expect.poll(async () => (await listClients(controls)).complete).toBe(true);
  await expect(disconnectClient(controls, { clientid: 'b' })).rejects.toMatchObject({
    code: 'IN_USE',
    message: expect.stringMatching(/"a", "c" would be disconnected too; set `force` to/),
    info: { username: 'u1', clients: ['a', 'c'], count: 2, isComplete: true, canForce: true },
  });
  expect(await Promise.all(clients.map(isUp))).toEqual([true, true, true]);
  const gone = Promise.all(clients.map(closed));
  const done = await disconnectClient(controls, { clientid: 'b', force: true });
  expect(done).toEqual({ method: 'ACCOUNT', clientids: ['a', 'b', 'c'] });
  await gone;
  expect(await isUp(other)).toBe(true);
  // Now it is alone.
  await device('b');
  await expect.poll(() => getClient(controls, 'b').catch(() => null)).not.toBeNull();
  expect(await disconnectClient(controls, { clientid: 'b' })).toMatchObject({ clientids: ['b'] });
});

test('earlier clients may use the account: it is refused until they are gone or cannot use it, or with force', async () => {
  let stranger: Awaited<ReturnType<typeof startClient>> | undefined;
  const { controls, device, broker } = await startFollowed({}, async ({ url }) => {
    stranger = await startClient(url, { clientId: 'stranger', username: 'u2', password: 'u2' });
  });
  await expect.poll(async () => (await listClients(controls)).unknownConnections).toBe(1);
  const early = await comeBack(broker.url, { clientId: 'u1-early', username: 'u1', password: 'u1' });
  await expect.poll(() => getClient(controls, 'u1-early').catch(() => null)).not.toBeNull();
  const refused = {
    code: 'IN_USE',
    message: expect.stringMatching(/followed only since \d{4}-.* and 1 are unknown; set `force`/),
    info: { clients: [], count: 0, isComplete: false, unknownConnections: 1, canForce: true },
  };
  // Mosquitto 2.1 reports the connections of the account.
  if (mosquittoDialect().changeIndex) {
    expect(await disconnectClient(controls, { clientid: 'u1-early' })).toMatchObject({ clientids: ['u1-early'] });
    return;
  }
  await expect(disconnectClient(controls, { clientid: 'u1-early' })).rejects.toMatchObject(refused);
  expect(await isUp(early.client)).toBe(true);
  expect((await listClients(controls)).unknownConnections).toBe(1);
  expect(await disconnectClient(controls, { clientid: 'u1-early', force: true })).toMatchObject({
    clientids: ['u1-early'],
  });

  // No other client can use an account that is bound to a client id.
  await controls.call(DYNSEC, 'setClientId', { username: 'u1', clientid: 'bound' });
  await device('bound');
  await expect.poll(() => getClient(controls, 'bound').catch(() => null)).not.toBeNull();
  expect(await disconnectClient(controls, { clientid: 'bound' })).toMatchObject({ clientids: ['bound'] });

  const late = await device('late', { username: 'u2' });
  await expect.poll(() => getClient(controls, 'late').catch(() => null)).not.toBeNull();
  await expect(disconnectClient(controls, { clientid: 'late' })).rejects.toMatchObject(refused);
  expect(await Promise.all([late, stranger].map((client) => client && isUp(client)))).toEqual([true, true]);
  await stranger?.endAsync();
  await expect.poll(async () => (await listClients(controls)).unknownConnections).toBe(0);
  expect(await disconnectClient(controls, { clientid: 'late' })).toMatchObject({ clientids: ['late'] });
});

test('an earlier client is disconnected too with force', async () => {
  let stranger: Awaited<ReturnType<typeof startClient>> | undefined;
  const { controls, device } = await startFollowed({}, async ({ url }) => {
    stranger = await startClient(url, { clientId: 'stranger', username: 'u1', password: 'u1' });
  });
  await expect.poll(async () => (await listClients(controls)).unknownConnections).toBe(1);
  await device('known');
  await expect.poll(() => getClient(controls, 'known').catch(() => null)).not.toBeNull();
  await expect(disconnectClient(controls, { clientid: 'known' })).rejects.toMatchObject({ code: 'IN_USE' });
  const gone = stranger && closed(stranger);
  await disconnectClient(controls, { clientid: 'known', force: true });
  await gone;
});

test('clients without a user name are disconnected by their group, if there is one', async () => {
  const { controls, device, broker } = await startFollowed({ lines: ['allow_anonymous true'] });
  const nameless = await startClient(broker.url, { clientId: 'nameless' });
  const named = await device('named');
  await expect.poll(async () => (await listClients(controls)).totalCount).toBe(3);
  await expect.poll(async () => (await listClients(controls)).complete).toBe(true);
  await expect(disconnectClient(controls, { clientid: 'nameless' })).rejects.toMatchObject({
    code: 'NOT_SUPPORTED_BY_BROKER',
    message: expect.stringContaining('anonymous group'),
  });
  await controls.call(DYNSEC, 'createGroup', { groupname: 'nobody' });
  const reset = closed(nameless);
  await controls.call(DYNSEC, 'setAnonymousGroup', { groupname: 'nobody' });
  await reset;
  const again = await startClient(broker.url, { clientId: 'nameless' });
  const second = await startClient(broker.url, { clientId: 'second' });
  await expect.poll(async () => (await listClients(controls)).totalCount).toBe(4);
  const { clients } = await listClients(controls);
  expect(clients.map(({ clientid }) => clientid)).toContain('second');
  await expect(disconnectClient(controls, { clientid: 'nameless' })).rejects.toMatchObject({
    code: 'IN_USE',
    info: { username: null, clients: ['second'] },
  });
  const gone = Promise.all([again, second].map(closed));
  expect(await disconnectClient(controls, { clientid: 'nameless', force: true })).toEqual({
    method: 'ACCOUNT',
    clientids: ['nameless', 'second'],
  });
  await gone;
  expect(await isUp(named)).toBe(true);
  expect(await controls.call(DYNSEC, 'getAnonymousGroup')).toEqual({ group: { groupname: 'nobody' } });
});

test('a user that exists only in a certificate is disconnected, and remains unknown to dynamic security', async () => {
  const port = await freePort();
  const lines = ['use_identity_as_username true', `listener ${port} 127.0.0.1`];
  const broker = await startMosquitto({ access: 'dynsec', tls: 'mutual', logTypes: FOLLOWED_LOG, lines });
  const { controls } = await follow({ url: `mqtt://127.0.0.1:${port}`, ...ADMIN });
  // The file is in Mosquitto's own words after the first write.
  await controls.call(DYNSEC, 'createGroup', { groupname: 'any' });
  const { ca, cert, key } = broker.certificates ?? { ca: '', cert: '', key: '' };
  const device = await startClient(broker.url, { clientId: 'certified', ca, cert, key });
  await expect
    .poll(() => getClient(controls, 'certified').catch(() => null))
    .toMatchObject({ username: 'test client' });
  const file = contentOf(broker);
  const gone = closed(device);
  expect(await disconnectClient(controls, { clientid: 'certified' })).toEqual({
    method: 'ACCOUNT',
    clientids: ['certified'],
  });
  await gone;
  expect(contentOf(broker)).toEqual(file);
});

test('the account of this service is never disconnected', async () => {
  const { controls, link, broker } = await startFollowed();
  const client = await broker.client({ clientId: 'ours' });
  const { since } = link.status;
  await expect.poll(() => getClient(controls, 'ours').catch(() => null)).not.toBeNull();
  for (const force of [false, true]) {
    await expect(disconnectClient(controls, { clientid: 'ours', force })).rejects.toMatchObject({
      code: 'IN_USE',
      message: expect.stringContaining('this service itself uses it'),
      info: { canForce: false },
    });
  }
  expect(await isUp(client)).toBe(true);
  expect(link.status).toMatchObject({ state: 'CONNECTED', since });
});

test('no client is disconnected without dynamic security, and the error names the remedy', async () => {
  const broker = await startMosquitto({ access: 'passwords', logTypes: FOLLOWED_LOG, lines: ['allow_anonymous true'] });
  const { controls } = await follow({ url: broker.url, ...ADMIN });
  const clients = await Promise.all(['device', 'peer'].map((clientId) => startClient(broker.url, { clientId })));
  await expect.poll(async () => (await listClients(controls)).complete).toBe(true);
  await expect.poll(() => getClient(controls, 'device').catch(() => null)).not.toBeNull();
  expect(await controls.capability('cedalo/client-control')).toMatchObject({
    provider: 'GATEWAY',
    reason: expect.stringMatching(/allowsClientTakeover.*mosquitto_dynamic_security.so/),
  });
  for (const force of [false, true]) {
    await expect(disconnectClient(controls, { clientid: 'device', force })).rejects.toMatchObject({
      code: 'NOT_SUPPORTED_BY_BROKER',
      message: expect.stringContaining('mosquitto_dynamic_security.so'),
    });
  }
  expect(await Promise.all(clients.map(isUp))).toEqual([true, true]);
});

test('clients cannot be controlled if the log is not published, for the same reason', async () => {
  const broker = await startMosquitto();
  const { controls } = await follow({ url: broker.url });
  expect(await controls.capability('cedalo/client-control')).toMatchObject({
    provider: 'NONE',
    reason: expect.stringContaining('log_dest topic'),
  });
  const link = await connectedLink({ url: broker.url });
  expect(link.username).toBeNull();
});

test('a client with a truncated log line may use any account until the broker publishes a count', async () => {
  const { controls, device } = await startFollowed({ sysInterval: 2 });
  const client = await device('short');
  await expect.poll(async () => (await listClients(controls)).complete).toBe(true);
  const long = await device('x'.repeat(1_200));
  // The log line of its connection was published before the response.
  await controls.call(DYNSEC, 'getClient', { username: 'u1' });
  const first = disconnectClient(controls, { clientid: 'short' });
  await expect(first).rejects.toMatchObject({ code: 'IN_USE', info: { clients: [], isComplete: false } });
  expect(await Promise.all([client, long].map(isUp))).toEqual([true, true]);
  await long.endAsync();
  await expect
    .poll(() => disconnectClient(controls, { clientid: 'short' }).catch(({ code }) => code))
    .toMatchObject({ clientids: ['short'] });
});

test('a truncated user name is not mistaken for another user name', async () => {
  const { controls, device } = await startFollowed();
  const victim = await device('victim', { username: 'u2' });
  const username = `u2').${'y'.repeat(300)}`;
  await controls.call(DYNSEC, 'createClient', { username, password: 'pw' });
  const around = "1234567890: New client connected from 127.0.0.1:12345 as  (p2, c1, k60, u'u2').".length;
  const ids = [-1, 0, 1].map((more) => 'z'.repeat(999 - around + more));
  for (const id of ids) await device(id, { username, password: 'pw' });
  await controls.call(DYNSEC, 'getClient', { username: 'u2' });
  for (const clientid of ids) {
    const refusal = disconnectClient(controls, { clientid, force: true });
    await expect(refusal).rejects.toMatchObject({ code: 'NOT_FOUND' });
  }
  expect(await isUp(victim)).toBe(true);
});

/** Runs it between what is read of an account and its end, once. */
function beforeKick(controls: BrokerControls, run: () => Promise<unknown>): void {
  const call = controls.call.bind(controls);
  vi.spyOn(controls, 'call').mockImplementation(async (api, command, fields) => {
    if (command === 'modifyClient') {
      vi.mocked(controls.call).mockRestore();
      await run();
    }
    return call(api, command, fields) as never;
  });
}

test('a client that connects with the account while it is disconnected is listed', async () => {
  const { controls, device } = await startFollowed();
  await device('first');
  await expect.poll(async () => (await listClients(controls)).complete).toBe(true);
  const late: Promise<void>[] = [];
  beforeKick(controls, async () => late.push(closed(await device('late'))));
  expect(await disconnectClient(controls, { clientid: 'first' })).toEqual({
    method: 'ACCOUNT',
    clientids: ['first', 'late'],
  });
  await Promise.all(late);
});

test('a client that reconnects with another account meanwhile is disconnected there', async () => {
  const { controls, device } = await startFollowed();
  await device('moves');
  await expect.poll(async () => (await listClients(controls)).complete).toBe(true);
  const ends: Promise<void>[] = [];
  beforeKick(controls, async () => ends.push(closed(await device('moves', { username: 'u2' }))));
  expect(await disconnectClient(controls, { clientid: 'moves' })).toEqual({ method: 'ACCOUNT', clientids: ['moves'] });
  expect(ends).toHaveLength(1);
  await Promise.all(ends);

  // Nor are others of that account disconnected unasked.
  const [other] = await Promise.all([device('other', { username: 'u2' }), device('moves')]);
  const isThere = async (clientid: string) =>
    (await listClients(controls)).clients.some((client) => client.clientid === clientid && client.connected);
  for (const clientid of ['other', 'moves']) await expect.poll(() => isThere(clientid)).toBe(true);
  beforeKick(controls, () => device('moves', { username: 'u2' }));
  await expect(disconnectClient(controls, { clientid: 'moves' })).rejects.toMatchObject({
    code: 'IN_USE',
    info: { username: 'u2', clients: ['other'] },
  });
  expect(await isUp(other)).toBe(true);
});

test('several clients of an account are disconnected together, but not with a client that was not selected', async () => {
  const { controls, device } = await startFollowed();
  const clients = await Promise.all(['a', 'b'].map((id) => device(id)));
  await expect.poll(async () => (await listClients(controls)).complete).toBe(true);
  const late = await device('late');
  await controls.call(DYNSEC, 'getClient', { username: 'u1' });
  const among = ['a', 'b'];
  await expect(disconnectClient(controls, { clientid: 'a', among })).rejects.toMatchObject({ code: 'IN_USE' });
  expect(await Promise.all([...clients, late].map(isUp))).toEqual([true, true, true]);
  await late.endAsync();
  await expect.poll(() => getClient(controls, 'late').catch(() => null)).toBeNull();
  expect(await disconnectClient(controls, { clientid: 'a', among })).toEqual({ method: 'ACCOUNT', clientids: among });
});
