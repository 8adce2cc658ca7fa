import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { createAuthority, createSelfSigned, type TestCertificate } from '../../support/certificates.ts';
import { sinceVersion } from '../../support/mosquitto.ts';
import type { TestService } from '../../support/service.ts';
import { administratorOf, ask, createBroker, folderOf, pidOf, portsOf, startRunning } from './cloud-mosquitto.ts';

const [MQTTS, WSS, MUTUAL] = [2, 3, 4];
const SUCCESS = { response: 'SUCCESS' };
const root = createAuthority();

async function startTls() {
  const service = await startRunning();
  const listeners = [
    {},
    { hasTls: true },
    { hasTls: true, protocol: 'WEBSOCKET' },
    { hasTls: true, requiresCertificate: true },
  ];
  const { id, states } = await createBroker(service, { listeners });
  return { service, id, states, ports: await portsOf(service, id), ...commandsOf(service, id) };
}

function commandsOf(service: TestService, id: string) {
  const run = (command: string, fields: Record<string, unknown> = {}) =>
    ask<unknown>(service, id, 'certificate-management', command, fields).catch((error: Error) => error.message);
  return {
    run,
    setServer: (listener_id: number, { cert, key }: Pick<TestCertificate, 'cert' | 'key'>) =>
      run('setServerCertificate', { listener_id, file_name: 'server.pem', cert_pem: cert, key_pem: key }),
    insertCa: (listener_id: number, { cert }: TestCertificate, name = 'ca.pem') =>
      run('insertCACertificate', { listener_id, file_name: name, ca_cert_pem: cert }),
    list: () => run('listCertificates'),
  };
}

/** Connects over TLS. Returns the reason if that fails. */
async function connecting(url: string, options: IClientOptions): Promise<MqttClient | string> {
  try {
    const client = await connectAsync(
      url,
      { ca: root.leaf, reconnectPeriod: 0, connectTimeout: 5_000, ...options },
      false,
    );
    client.on('error', () => undefined);
    onTestFinished(() => client.endAsync(true).then(() => undefined));
    return client;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function connected(url: string, options: IClientOptions): Promise<MqttClient> {
  const client = await connecting(url, options);
  if (typeof client === 'string') throw new Error(client);
  return client;
}

/** What the server's certificate of a client's connection is. */
const fingerprintOf = (client: MqttClient): string =>
  (client.stream as unknown as { getPeerCertificate(): { fingerprint256: string } }).getPeerCertificate()
    .fingerprint256;

test('a Mosquitto of this service gets certificates: the first by a restart, another by SIGHUP while a client stays connected', async () => {
  const { service, id, states, ports, run, setServer, insertCa, list } = await startTls();
  const account = administratorOf(service, id);
  expect(await ask(service, id, 'broker', 'listListeners')).toMatchObject({
    listeners: [
      { id: 1, port: ports[1], protocol: 'mqtt', 'bind-address': '127.0.0.1', tls: false },
      { id: MQTTS, port: ports[MQTTS], tls: true, 'require-certificate': false },
      { id: WSS, protocol: 'mqtt+websockets', tls: true },
      { id: MUTUAL, tls: true, 'require-certificate': true },
    ],
  });
  const url = `mqtts://localhost:${ports[MQTTS]}`;
  expect(await connecting(url, account)).toContain('ECONNREFUSED');

  const first = root.issue();
  expect(await setServer(MQTTS, first)).toEqual(SUCCESS);
  await states.until('UPDATING');
  await states.until('ACTIVE');
  const staying = await connected(url, account);
  expect(fingerprintOf(staying)).toBe(first.fingerprint256);
  const pid = pidOf(service, id);
  const second = root.issue();
  expect(await setServer(MQTTS, second)).toEqual(SUCCESS);
  expect(pidOf(service, id)).toBe(pid);
  expect(fingerprintOf(await connected(url, account))).toBe(second.fingerprint256);
  expect(staying.connected).toBe(true);
  await staying.publishAsync('still', 'here', { qos: 1 });

  // OpenSSL would serve a certificate with another type of key in addition to the previous one.
  const handshake = (port: number | undefined, ...args: string[]) =>
    spawnSync('openssl', ['s_client', '-connect', `127.0.0.1:${port}`, '-tls1_2', ...args], { encoding: 'utf8' })
      .status;
  const [rsa, ECDHE_RSA, CBC] = [
    root.issue({ key: 'rsa-2048' }),
    'ECDHE-RSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-SHA',
  ];
  expect(await setServer(MQTTS, rsa)).toEqual(SUCCESS);
  expect(fingerprintOf(await connected(url, account))).toBe(rsa.fingerprint256);
  expect(handshake(ports[MQTTS], '-cipher', ECDHE_RSA)).toBe(0);
  expect(handshake(ports[MQTTS], '-cipher', CBC)).toBe(1);
  expect(await setServer(MQTTS, second)).toEqual(SUCCESS);
  expect(handshake(ports[MQTTS], '-cipher', ECDHE_RSA)).toBe(1);

  // Refused before anything is written; the listener serves what it did.
  const other = root.issue();
  expect(await setServer(MQTTS, { cert: other.cert, key: first.key })).toBe(
    'The private key does not belong to the certificate',
  );
  expect(await setServer(MQTTS, root.issue({ to: new Date(Date.now() - 1_000) }))).toContain('expired on');
  expect(await setServer(MQTTS, root.issue({ key: 'rsa-1024' }))).toContain('is weak');
  expect(await setServer(1, other)).toContain('TLS is not enabled on this listener');
  expect(await setServer(9, other)).toContain('Listener not found');
  expect(
    await run('setServerCertificate', { listener_id: MQTTS, file_name: '../x', cert_pem: '', key_pem: '' }),
  ).toContain('file_name');
  expect(fingerprintOf(await connected(url, account))).toBe(second.fingerprint256);

  // WebSocket listeners of 2.0 take another certificate by a restart only.
  const wss = `wss://localhost:${ports[WSS]}`;
  expect(await setServer(WSS, first)).toEqual(SUCCESS);
  const pidBefore = pidOf(service, id);
  expect(await setServer(WSS, second)).toEqual(SUCCESS);
  expect(pidOf(service, id) === pidBefore).toBe(sinceVersion({ '2.0.0': false, '2.1.0': true }));
  await connected(wss, account);
  expect(handshake(ports[WSS])).toBe(0);
  expect(handshake(ports[WSS], '-cipher', 'ECDHE-ECDSA-AES128-SHA')).toBe(1);

  // A listener that requires certificates admits no client before it has an authority.
  const clients = createAuthority({ name: 'Clients' });
  const certificateOf = (authority: TestCertificate) => {
    const { cert, key } = authority.issue({ name: 'meter' });
    return { ...account, cert, key };
  };
  const mutual = `mqtts://localhost:${ports[MUTUAL]}`;
  expect(await insertCa(MUTUAL, clients)).toEqual(SUCCESS);
  expect(await insertCa(MUTUAL, clients)).toContain('File already exists');
  expect(await insertCa(MUTUAL, createSelfSigned())).toContain('is not an authority');
  expect(await insertCa(WSS, clients)).toContain('made without `requiresCertificate`');
  expect(await setServer(MUTUAL, first)).toEqual(SUCCESS);
  await connected(mutual, certificateOf(clients));
  expect(await connecting(mutual, account)).toContain('certificate required');
  expect(await connecting(mutual, certificateOf(createAuthority()))).toContain('unknown ca');
  const more = createAuthority({ name: 'More' });
  expect(await insertCa(MUTUAL, more, 'more.pem')).toEqual(SUCCESS);
  await connected(mutual, certificateOf(more));
  expect(await run('deleteCACertificate', { listener_id: MUTUAL, file_name: 'ca.pem' })).toEqual(SUCCESS);
  expect(await run('deleteCACertificate', { listener_id: MUTUAL, file_name: 'ca.pem' })).toContain('File not found');
  expect(await connecting(mutual, certificateOf(clients))).toContain('unknown ca');
  expect(await run('removeServerCertificate', { listener_id: WSS })).toEqual(SUCCESS);
  expect(await connecting(wss, account)).toContain('ECONNREFUSED');
  expect(await list()).toEqual({
    listeners: [
      { listener_id: MQTTS, server: { file_name: 'server.pem', fingerprint256: second.fingerprint256 }, cas: [] },
      { listener_id: WSS, server: null, cas: [] },
      {
        listener_id: MUTUAL,
        server: { file_name: 'server.pem', fingerprint256: first.fingerprint256 },
        cas: [{ file_name: 'more.pem', fingerprint256: more.fingerprint256 }],
      },
    ],
  });
  const folder = join(folderOf(service, id), 'certificates');
  for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).mode & 0o077).toBe(0);
  expect(readFileSync(join(folderOf(service, id), 'mosquitto.conf'), 'utf8')).not.toContain('PRIVATE');
});

test('what Mosquitto does not take is undone: it goes on with what it had', async () => {
  const { service, id, ports, setServer } = await startTls();
  const account = administratorOf(service, id);
  const first = root.issue();
  expect(await setServer(MQTTS, first)).toEqual(SUCCESS);
  // Another process has the port of a listener that is not open yet.
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(ports[MUTUAL], '127.0.0.1', resolve));
  expect(await setServer(MUTUAL, root.issue())).toMatch(/could not be given .*what it had before was put back$/);
  other.close();
  const url = `mqtts://localhost:${ports[MQTTS]}`;
  expect(fingerprintOf(await connected(url, account))).toBe(first.fingerprint256);
  expect(await setServer(MUTUAL, root.issue())).toEqual(SUCCESS);
  // A damaged file does not end the running process. Another certificate replaces it.
  writeFileSync(join(folderOf(service, id), 'certificates', `${MQTTS}-server.pem`), 'nonsense');
  const second = root.issue();
  expect(await setServer(MQTTS, second)).toEqual(SUCCESS);
  expect(fingerprintOf(await connected(url, account))).toBe(second.fingerprint256);
});
