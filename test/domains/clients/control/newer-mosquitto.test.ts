import { expect, test } from 'vitest';
import { disconnectClient } from '../../../../src/protocol/apis/clients/client-control.ts';
import { getClient, listClients } from '../../../../src/protocol/apis/clients/inspect-control.ts';
import type { BrokerControls } from '../../../../src/protocol/control/broker-controls.ts';
import { startNewerMosquitto } from '../newer-mosquitto.ts';

const known = (controls: BrokerControls, clientid: string) =>
  expect.poll(() => getClient(controls, clientid).catch(() => null)).not.toBeNull();

test('the sessions of an account prove that no unknown client uses it', async () => {
  const { broker, controls, sessions, ends, connect, count } = await startNewerMosquitto();
  await connect('alone', 'u1', 1);
  await known(controls, 'alone');
  // Ourselves, the client, and three of before.
  await count(5);
  await expect.poll(async () => (await listClients(controls)).unknownConnections).toBe(3);
  sessions.set('u1', 2);
  await expect(disconnectClient(controls, { clientid: 'alone' })).rejects.toMatchObject({
    code: 'IN_USE',
    message: expect.stringContaining('3 are unknown'),
    info: { isComplete: false },
  });
  expect(broker.requests.join()).not.toContain('modifyClient');
  sessions.set('u1', 1);
  ends.set('u1', 'Client alone [10.0.0.1:1] disconnected: administrative action.');
  expect(await disconnectClient(controls, { clientid: 'alone' })).toEqual({ method: 'ACCOUNT', clientids: ['alone'] });
  expect(await getClient(controls, 'alone')).toMatchObject({ disconnectReason: 'administrative action' });
  expect(broker.requests.filter((request) => request.includes('modifyClient'))).toHaveLength(1);
});

test('the plugin waits for a broker without a count, and then every account counts as shared', async () => {
  const { controls, sessions, connect } = await startNewerMosquitto();
  await connect('device', 'u1', 1);
  await known(controls, 'device');
  sessions.set('u1', 9);
  const from = performance.now();
  await expect(disconnectClient(controls, { clientid: 'device' })).rejects.toMatchObject({
    code: 'IN_USE',
    message: expect.stringContaining('number of connections is not known yet'),
    info: { unknownConnections: null, isComplete: false },
  });
  expect(performance.now() - from).toBeGreaterThan(1_900);
});

test('a count that arrives meanwhile suffices', async () => {
  const { broker, controls, sessions, ends, connect, count } = await startNewerMosquitto();
  await connect('device', 'u1', 1);
  await known(controls, 'device');
  sessions.set('u1', 9);
  ends.set('u1', 'Client device [10.0.0.1:1] disconnected: administrative action.');
  const done = disconnectClient(controls, { clientid: 'device' });
  await expect.poll(() => broker.requests.join()).toContain('getClient');
  await count(2);
  expect(await done).toEqual({ method: 'ACCOUNT', clientids: ['device'] });
});

test('the account of a client id or user name that imitates a log line is not trusted', async () => {
  const { broker, controls, sessions, ends, say, count } = await startNewerMosquitto();
  const id = "evil (p5, c0, k60, u'x";
  await say(`New client connected from 10.0.0.1:1 as ${id} (p5, c0, k60, u'victim').`);
  await known(controls, id);
  await count(2);
  await expect.poll(async () => (await listClients(controls)).complete).toBe(true);
  sessions.set('victim', 1);
  await expect(disconnectClient(controls, { clientid: id })).rejects.toMatchObject({
    code: 'IN_USE',
    message: expect.stringContaining('cannot be read reliably'),
  });
  expect(broker.requests.join()).not.toContain('modifyClient');
  ends.set('victim', `Client ${id} [10.0.0.1:1] disconnected: administrative action.`);
  expect(await disconnectClient(controls, { clientid: id, force: true })).toMatchObject({ clientids: [id] });
});
