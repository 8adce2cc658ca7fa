import { expect, test } from 'vitest';
import { createSelfSigned } from '../../support/certificates.ts';
import { freePort } from '../../support/free-port.ts';
import { ADMIN, FOLLOWED_LOG, sinceVersion, startMosquitto } from '../../support/mosquitto.ts';
import { startTestService } from '../../support/service.ts';
import { subscribe } from '../../support/subscription.ts';
import { addBroker } from '../clients/graph/commercial-broker.ts';
import { codeOf, ownIds } from '../clients/graph/operations.ts';
import { refusedConnects, refusedPackets } from './mosquitto-kinds.ts';
import {
  distrust,
  joinFrom,
  listRefusals,
  type SeenRefusal,
  sendRaw,
  shakeHands,
  watchRefusals,
} from './refused-clients.ts';

async function start(logTypes: readonly string[] = FOLLOWED_LOG) {
  const crowded = await freePort();
  const limited = await freePort();
  const lines = [
    `listener ${crowded} 127.0.0.1`,
    'max_connections 1',
    `listener ${limited} 127.0.0.1`,
    'max_qos 1',
    'allow_zero_length_clientid false',
    'max_packet_size 2000',
  ];
  const mosquitto = await startMosquitto({ access: 'dynsec', logTypes, lines, webSocket: true });
  const service = await startTestService();
  const brokerId = await addBroker(service, mosquitto.url, ADMIN);
  return { service, brokerId, mosquitto, crowded, limited };
}

async function withAccounts(service: Awaited<ReturnType<typeof start>>['service']) {
  const [broker] = service.services.brokers.visibleIn(service.projectId, null);
  if (!broker) throw new Error('There is no broker');
  const { controls } = service.services.runtimes.get(broker);
  for (const username of ['dev', 'off']) {
    await controls.call('dynamic-security', 'createClient', { username, password: 'pw' });
  }
  await controls.call('dynamic-security', 'createClient', { username: 'bound', password: 'pw', clientid: 'only-this' });
  await controls.call('dynamic-security', 'disableClient', { username: 'off' });
}

test('Mosquitto reports 33 kinds of refused connections and packets, each before the next one', async () => {
  const { service, brokerId, mosquitto, crowded, limited } = await start();
  await withAccounts(service);
  const { port, webSocketUrl } = mosquitto;
  const listeners = { port, crowded, limited, webSocketUrl };
  const { next, clear } = await watchRefusals(service, brokerId);
  /** How often equal ones were reported. Their entry has the listener of the last one. */
  const counts = new Map<string, number>();
  for (const [act, reported] of [...refusedConnects(listeners), ...refusedPackets(listeners)]) {
    clear();
    act();
    if (reported === null) continue;
    const key = `${reported.reason} ${reported.clientId}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    expect(await next(() => true)).toMatchObject({ ...reported, count });
  }
});

test('clients that fight for a client id on Mosquitto are one entry with both, and the session has the reason', async () => {
  const { service, brokerId, mosquitto } = await start();
  await withAccounts(service);
  const [broker] = service.services.brokers.visibleIn(service.projectId, null);
  if (!broker) throw new Error('There is no broker');
  const { controls } = service.services.runtimes.get(broker);
  await controls.call('dynamic-security', 'createClient', { username: 'twin', password: 'pw' });
  const { next } = await watchRefusals(service, brokerId);
  const join = (username: string, address = '127.0.0.1') =>
    joinFrom(address, mosquitto.port, { clientId: 'same-id', username, password: Buffer.from('pw') });

  // A client that reconnects is not reported.
  await join('dev');
  await join('dev');
  await join('twin', '127.0.0.2');
  const entry = { kind: 'TAKEOVER', reason: 'TAKEN_OVER', clientId: 'same-id' } as const;
  const first = await next(({ kind }) => kind === 'TAKEOVER');
  expect(first).toMatchObject({
    ...entry,
    count: 1,
    username: 'dev',
    address: '127.0.0.1',
    takenOverBy: { username: 'twin', address: '127.0.0.2' },
  });
  await join('dev');
  const second = await next(({ count }) => count === 2);
  expect(second).toMatchObject({
    ...entry,
    id: first.id,
    username: 'twin',
    address: '127.0.0.2',
    takenOverBy: { username: 'dev', address: '127.0.0.1' },
  });
  for (const username of ['dev', 'twin']) {
    const { data } = await listRefusals(service, brokerId, { username });
    expect(data.broker.refusals.nodes.map(({ id }: SeenRefusal) => id)).toEqual([first.id]);
  }
  const READ = `query ($id: ID!) { broker(id: $id) { connectedClient(clientId: "same-id") { username isConnected disconnectReason } } }`;
  await expect
    .poll(async () => (await service.graphql(READ, { id: brokerId })).data.broker.connectedClient)
    .toEqual({ username: 'dev', isConnected: true, disconnectReason: 'session taken over' });
});

test('another client with the client id of the service is reported with its address, and with its account later', async () => {
  const { service, brokerId, mosquitto } = await start();
  await withAccounts(service);
  const { next } = await watchRefusals(service, brokerId);
  const status = subscribe(
    service,
    service.root,
    'subscription ($id: ID!) { brokerStatus(projectId: $id) { kind brokers { connection { state lastError } } } }',
    { id: service.projectId },
  );
  // Otherwise the service may be connected again before the first event.
  await status.until(({ brokerStatus: { kind } }) => kind === 'SNAPSHOT');
  const [stolen = ''] = ownIds(service, brokerId);
  const thief = { clientId: stolen, username: 'dev', password: Buffer.from('pw') } as const;
  await joinFrom('127.0.0.2', mosquitto.port, thief);
  await status.until(({ brokerStatus: { brokers } }) =>
    (brokers ?? []).some(({ connection }: { connection: { state: string; lastError: string | null } }) =>
      connection.lastError?.endsWith('took over the client id: its address is 127.0.0.2'),
    ),
  );
  const entry = { kind: 'TAKEOVER', reason: 'TAKEN_OVER', clientId: stolen, username: ADMIN.username };
  expect(await next(({ kind }) => kind === 'TAKEOVER')).toMatchObject({
    ...entry,
    detail: expect.stringContaining('this service'),
    takenOverBy: { address: '127.0.0.2', username: null },
  });
  // The service has another client id now, so the other client only appears in the log.
  await joinFrom('127.0.0.2', mosquitto.port, thief);
  expect(await next(({ takenOverBy }) => takenOverBy?.username === 'dev')).toMatchObject({
    ...entry,
    takenOverBy: { address: '127.0.0.2', username: 'dev' },
  });
  expect(service.services.runtimes.isConnected(brokerId)).toBe(true);
});

test('Mosquitto reports why TLS handshakes failed, and on which listener', async () => {
  const mosquitto = await startMosquitto({ access: 'anonymous', logTypes: FOLLOWED_LOG, tls: 'mutual' });
  const service = await startTestService();
  const { ca, cert, key } = mosquitto.certificates ?? { ca: '', cert: '', key: '' };
  const brokerId = await addBroker(service, mosquitto.url, { ca_cert: ca, client_cert: cert, client_key: key });
  const { port } = mosquitto;
  const other = createSelfSigned();
  const KINDS: readonly (readonly [() => void, string])[] = [
    [() => shakeHands(port), 'TLS_CERTIFICATE_MISSING'],
    [() => shakeHands(port, { cert: other.cert, key: other.key }), 'TLS_CERTIFICATE_NOT_TRUSTED'],
    [() => distrust(port), 'TLS_REFUSED_BY_CLIENT'],
    [() => sendRaw(port, { clientId: 'plain' }), 'PLAIN_ON_TLS_LISTENER'],
    [
      () => shakeHands(port, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }),
      'TLS_INCOMPATIBLE',
    ],
  ];
  const { next, clear } = await watchRefusals(service, brokerId);
  for (const [act, reason] of KINDS) {
    clear();
    act();
    // 2.0 names the listener in another line, which may come after the error.
    const listenerPort = sinceVersion({ '2.0.0': expect.toBeOneOf([null, port]), '2.1.0': port });
    const address = '127.0.0.1';
    expect(await next(() => true)).toMatchObject({ kind: 'CONNECT', reason, clientId: null, address, listenerPort });
  }
});

test('what Mosquitto cannot report is an error that says what would help', async () => {
  const { service, brokerId } = await start();
  const denied = await listRefusals(service, brokerId, { kinds: ['PUBLISH', 'SUBSCRIBE'] });
  expect(codeOf(denied)).toBe('NOT_SUPPORTED_BY_BROKER');
  expect(denied.errors?.[0]?.message).toMatch(/log_type debug/);
  const { data } = await listRefusals(service, brokerId);
  expect(data.broker.refusals.reportedKinds).toEqual(['CONNECT', 'PACKET', 'TAKEOVER']);
  expect(data.broker.refusals.limit).toMatch(/explainAccess/);
});

test('a Mosquitto without log topics is NOT_SUPPORTED_BY_BROKER, never an empty list', async () => {
  const { service, brokerId } = await start([]);
  const answer = await listRefusals(service, brokerId);
  expect(answer.data.broker.refusals).toBeNull();
  expect(codeOf(answer)).toBe('NOT_SUPPORTED_BY_BROKER');
  expect(answer.errors?.[0]?.message).toMatch(/log_dest topic/);
});
