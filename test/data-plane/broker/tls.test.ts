import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect as connectTls, type SecureVersion, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { createAuthority } from '../../support/certificates.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ADMINISTRATOR, collect, connect, control, listener } from './embedded.ts';
import {
  connectSecure,
  MQTTS,
  MUTUAL,
  outcomeOf,
  PLAIN,
  SUCCESS,
  servedBy,
  shakeHands,
  startTlsBroker,
  TLS_LISTENERS,
  useTlsBroker,
  WSS,
} from './tls.ts';

const CA = createAuthority();
const OTHER_CA = createAuthority({ name: 'Another authority' });
const SERVER = CA.issue();
const DEVICE = CA.issue({ name: 'device' });
const STRANGER = OTHER_CA.issue({ name: 'stranger' });

const fresh = useTlsBroker();

test.each([
  ['MQTT', MQTTS, false],
  ['WebSocket', WSS, true],
])(
  'a client of %s over TLS exchanges messages while the certificate is replaced, and the next one sees the new one',
  async (_name, number, ws) => {
    const { setServer, portOf } = await fresh();
    const port = portOf(number);
    expect(await setServer(number, SERVER)).toEqual(SUCCESS);
    const client = await connectSecure(port, CA, { ws });
    const closed: unknown[] = [];
    client.on('close', () => closed.push('closed'));
    await client.subscribeAsync('t', { qos: 1 });
    const { until } = collect(client);
    let sent = 0;
    const exchange = async () => {
      sent += 1;
      await client.publishAsync('t', `message ${sent}`, { qos: 1 });
    };
    const renewals = [CA.issue(), OTHER_CA.issue({ key: 'rsa-2048' }), CA.issue({ key: 'ed25519' })];
    for (const renewal of renewals) {
      const [replaced] = await Promise.all([setServer(number, renewal, 'renewed.pem'), exchange(), exchange()]);
      expect(replaced).toEqual(SUCCESS);
      await exchange();
      expect(await servedBy(port)).toBe(renewal.fingerprint256);
    }
    const seen = await until((messages) => messages.length === sent);
    expect(seen.map(({ text }) => text)).toEqual(Array.from({ length: sent }, (_, index) => `message ${index + 1}`));
    expect(closed).toEqual([]);
    expect(await outcomeOf(connectSecure(port, CA, { ws }))).toBe('connected');
  },
);

test('a listener that requires certificates admits only clients of its authorities', async () => {
  const { setServer, insertCa, deleteCa, portOf } = await fresh();
  const port = portOf(MUTUAL);
  const outcome = (device: object = {}) => outcomeOf(connectSecure(port, CA, device));
  await setServer(MUTUAL, SERVER);
  expect(await outcome(DEVICE)).not.toBe('connected');
  await insertCa(MUTUAL, CA, 'one.pem');
  await insertCa(MUTUAL, OTHER_CA, 'other.pem');
  expect(await outcome(DEVICE)).toBe('connected');
  expect(await outcome(STRANGER)).toBe('connected');
  expect(await outcome()).not.toBe('connected');
  expect(await outcome(createAuthority().issue())).not.toBe('connected');
  expect(await outcome(CA.issue({ to: new Date(Date.now() - 1_000) }))).not.toBe('connected');
  expect(await outcome(CA.issue({ key: 'rsa-1024' }))).not.toBe('connected');
  const stays = await connectSecure(port, CA, STRANGER);
  expect(await deleteCa(MUTUAL, 'other.pem')).toEqual(SUCCESS);
  expect(await outcome(STRANGER)).not.toBe('connected');
  expect(await outcome(DEVICE)).toBe('connected');
  // Who is in already stays, as with other brokers.
  await stays.publishAsync('t', 'still here', { qos: 1 });
});

test('a listener that requires no certificates admits clients of its authorities and clients without one, and refuses others', async () => {
  const { setServer, insertCa, deleteCa, portOf } = await fresh();
  const port = portOf(MQTTS);
  const outcome = (device: object = {}) => outcomeOf(connectSecure(port, CA, device));
  await setServer(MQTTS, SERVER);
  // The listener requests no certificate.
  expect(await outcome(STRANGER)).toBe('connected');
  await insertCa(MQTTS, CA);
  expect(await outcome(DEVICE)).toBe('connected');
  expect(await outcome()).toBe('connected');
  expect(await outcome(STRANGER)).not.toBe('connected');
  await deleteCa(MQTTS);
  expect(await outcome(STRANGER)).toBe('connected');
});

test('an intermediate authority is trusted by itself: its clients are admitted, clients of other authorities below the same root are not', async () => {
  const { setServer, run, portOf } = await fresh();
  const [plant, office] = [CA, CA].map((root, index) =>
    root.issue({ name: `Site ${index}`, isAuthority: true, altNames: [] }),
  );
  if (!plant || !office) throw new Error('two authorities');
  await setServer(MUTUAL, plant.issue());
  // With its root behind it, which is no reason to trust the root.
  const fields = { listener_id: MUTUAL, file_name: 'plant.pem', ca_cert_pem: plant.leaf + CA.leaf };
  expect(await run('insertCACertificate', fields)).toEqual(SUCCESS);
  const outcome = (device: object) => outcomeOf(connectSecure(portOf(MUTUAL), CA, device));
  expect(await outcome(plant.issue({ name: 'device' }))).toBe('connected');
  expect(await outcome(office.issue({ name: 'device' }))).not.toBe('connected');
  expect(await outcome(DEVICE)).not.toBe('connected');
});

test.each(['TLSv1.2', 'TLSv1.3'] as const)(
  'a session of %s is resumed, but not by a client whose authority was removed',
  async (version) => {
    const { setServer, insertCa, deleteCa, portOf } = await fresh();
    const port = portOf(MUTUAL);
    await setServer(MUTUAL, SERVER);
    await insertCa(MUTUAL, CA, 'one.pem');
    await insertCa(MUTUAL, OTHER_CA, 'other.pem');
    const { cert, key } = STRANGER;
    const options = { cert, key, minVersion: version, maxVersion: version };
    const first = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
    onTestFinished(() => void first.destroy());
    const [session] = (await once(first, 'session')) as [Buffer];
    const again = await shakeHands(port, { ...options, session });
    expect(again.isSessionReused()).toBe(true);
    expect(await isServed(again)).toBe(true);
    await deleteCa(MUTUAL, 'other.pem');
    const removed = await shakeHands(port, { ...options, session }).catch(() => null);
    expect(removed?.isSessionReused() ?? false).toBe(false);
    expect(removed && (await isServed(removed))).not.toBe(true);
    // The same with an authority that stays: the certificate is looked at again, and is good.
    const { cert: goodCert, key: goodKey } = DEVICE;
    expect(await isServed(await shakeHands(port, { ...options, cert: goodCert, key: goodKey }))).toBe(true);
  },
);

/** Whether MQTT is spoken there: a client of TLS 1.3 believes itself let in before its certificate was looked at. */
async function isServed(socket: TLSSocket): Promise<boolean> {
  // CONNECT of MQTT 3.1.1 without an account. Any response is a CONNACK.
  socket.write(Buffer.from('100c00044d5154540402003c0000', 'hex'));
  return new Promise((resolve) => {
    socket.once('data', () => resolve(true));
    socket.once('close', () => resolve(false));
  });
}

test('a listener without a certificate refuses handshakes with an alert and logs the reason once; it serves clients while it has one', async () => {
  const lines: object[] = [];
  const log = { info: () => {}, warn: (fields: object) => lines.push(fields), error: () => {} };
  const { setServer, run, portOf } = await startTlsBroker({ log });
  const outcome = () => outcomeOf(connectSecure(portOf(MQTTS), CA));
  for (let round = 0; round < 20; round += 1) expect(await outcome()).toContain('alert handshake failure');
  await setServer(MQTTS, SERVER);
  expect(await outcome()).toBe('connected');
  expect(await run('removeServerCertificate', { listener_id: MQTTS })).toEqual(SUCCESS);
  expect(await outcome()).toContain('alert handshake failure');
  expect(lines).toEqual([{ broker: 'test', reason: 'it has no server certificate' }]);
});

test('TLS 1.2 and 1.3 are accepted; older versions and ciphers without forward secrecy are refused', async () => {
  const { setServer, portOf } = await fresh();
  await setServer(MQTTS, SERVER);
  const handshake = async (version: SecureVersion, ciphers?: string) => {
    const options = { minVersion: version, maxVersion: version, ...(ciphers === undefined ? {} : { ciphers }) };
    const socket = await shakeHands(portOf(MQTTS), options).catch(() => null);
    return socket?.getProtocol() ?? null;
  };
  expect(await handshake('TLSv1.3')).toBe('TLSv1.3');
  expect(await handshake('TLSv1.2')).toBe('TLSv1.2');
  expect(await handshake('TLSv1.2', 'ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0')).toBeNull();
  expect(await handshake('TLSv1.1', 'DEFAULT:@SECLEVEL=0')).toBeNull();
});

test('inspect reports the listener, address, version, cipher and certificate of a client', async () => {
  const { setServer, insertCa, portOf, admin } = await fresh();
  await setServer(MUTUAL, SERVER);
  await insertCa(MUTUAL, CA);
  await connectSecure(portOf(MUTUAL), CA, { ...DEVICE, clientId: 'device' });
  const request = { commands: [{ command: 'getClient', clientid: 'device' }] };
  const [response] = await control(admin, 'cedalo/inspect', request);
  expect(response?.data).toMatchObject({
    listener: { port: portOf(MUTUAL), bind_address: '127.0.0.1' },
    tls: { version: 'TLSv1.3', ciphers: expect.stringMatching(/^TLS_/), clientCertificate: DEVICE.leaf },
  });
  expect(JSON.stringify(response?.data)).toContain('127.0.0.1');
});

test('listeners are listed with their number and TLS, and the API is listed among the plugins', async () => {
  const { admin, portOf } = await fresh();
  const one = async (command: string) => (await control(admin, 'broker', { commands: [{ command }] }))[0]?.data;
  const about = { 'bind-address': '127.0.0.1' };
  expect(await one('listListeners')).toEqual({
    listeners: [
      { ...about, id: PLAIN, port: portOf(PLAIN), protocol: 'mqtt', tls: false, 'require-certificate': false },
      { ...about, id: MQTTS, port: portOf(MQTTS), protocol: 'mqtt', tls: true, 'require-certificate': false },
      { ...about, id: WSS, port: portOf(WSS), protocol: 'mqtt+websockets', tls: true, 'require-certificate': false },
      { ...about, id: MUTUAL, port: portOf(MUTUAL), protocol: 'mqtt', tls: true, 'require-certificate': true },
    ],
  });
  const endpoint = { name: 'certificate-management', 'control-endpoints': ['$CONTROL/certificate-management/v1'] };
  expect(await one('listPlugins')).toMatchObject({
    plugins: expect.arrayContaining([expect.objectContaining(endpoint)]),
  });
});

test('mosquitto_pub publishes over TLS with the authority in a file, and not with another one', async () => {
  const { setServer, insertCa, portOf, admin } = await fresh();
  const folder = temporaryFolder();
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  await setServer(MUTUAL, SERVER);
  await insertCa(MUTUAL, CA);
  const { username, password } = ADMINISTRATOR;
  const publish = (ca: string, text: string) =>
    promisify(execFile)('mosquitto_pub', [
      ...['-h', 'localhost', '-p', String(portOf(MUTUAL)), '-u', username, '-P', password, '-q', '1'],
      ...[
        '--cafile',
        file('ca.pem', ca),
        '--cert',
        file('cert.pem', DEVICE.cert),
        '--key',
        file('key.pem', DEVICE.key),
      ],
      ...['-t', 'from/mosquitto', '-m', text],
    ]);
  const { until } = collect(admin);
  await admin.subscribeAsync('from/#', { qos: 1 });
  await expect(publish(OTHER_CA.leaf, 'untrusted')).rejects.toThrow();
  await publish(CA.leaf, 'hello');
  expect(await until((seen) => seen.length > 0)).toMatchObject([{ text: 'hello' }]);
});

test('a TLS listener has its port and certificates after a restart, and not those of an earlier listener with its number', async () => {
  const folder = temporaryFolder();
  const first = await startTlsBroker({ folder });
  await first.setServer(MQTTS, SERVER);
  await first.insertCa(MQTTS, CA);
  const listed = await first.run('listCertificates');
  await first.broker.close();
  const second = await startTlsBroker({ folder, listeners: first.broker.listeners });
  expect(second.portOf(MQTTS)).toBe(first.portOf(MQTTS));
  expect(await second.run('listCertificates')).toEqual(listed);
  expect(await outcomeOf(connectSecure(second.portOf(MQTTS), CA))).toBe('connected');
  expect(await outcomeOf(connectSecure(second.portOf(MQTTS), CA, STRANGER))).not.toBe('connected');
  await second.broker.close();
  // Its number without TLS, and then with it again: another listener, which gets nothing of the former one.
  const others = TLS_LISTENERS.filter(({ number }) => number !== MQTTS);
  const third = await startTlsBroker({ folder, listeners: [...others, listener({ number: MQTTS })] });
  await connect(third.portOf(MQTTS));
  await third.broker.close();
  const fourth = await startTlsBroker({ folder });
  expect(await fourth.run('listCertificates')).toMatchObject({
    listeners: expect.arrayContaining([{ listener_id: MQTTS, server: null, cas: [] }]),
  });
});
