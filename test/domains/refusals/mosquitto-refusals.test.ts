import { generate } from 'mqtt-packet';
import { expect, test } from 'vitest';
import { createSelfSigned } from '../../support/certificates.ts';
import { freePort } from '../../support/free-port.ts';
import { ADMIN, FOLLOWED_LOG, startMosquitto } from '../../support/mosquitto.ts';
import { startTestService } from '../../support/service.ts';
import { addBroker } from '../clients/graph/commercial-broker.ts';
import { codeOf } from '../clients/graph/operations.ts';
import { distrust, listRefusals, type SeenRefusal, sendRaw, shakeHands, watchRefusals } from './refused-clients.ts';

const password = Buffer.from('pw');

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
  const mosquitto = await startMosquitto({ access: 'dynsec', logTypes, lines });
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

test('Mosquitto 2.0 reports refused connections and packets before the next one', async () => {
  const { service, brokerId, mosquitto, crowded, limited } = await start();
  await withAccounts(service);
  const { port } = mosquitto;
  const dev = { username: 'dev', password };
  const v5 = { protocolVersion: 5 } as const;
  const publish = (topic: string, qos: 0 | 1 | 2 = 1) =>
    ({ cmd: 'publish', topic, payload: 'x', qos, messageId: 7, dup: false, retain: false }) as const;
  const refused = { kind: 'CONNECT', reason: 'NOT_AUTHORIZED', clientId: null, listenerPort: port } as const;
  const packet = (clientId: string, reason: string) => ({ kind: 'PACKET', reason, clientId, username: 'dev' }) as const;
  const will = { topic: 'no/+', payload: Buffer.from('x'), qos: 0, retain: false } as const;
  /** What a client does, what is reported, and how often it was before. */
  const KINDS: readonly (readonly [() => void, Partial<SeenRefusal>])[] = [
    [() => sendRaw(port, { clientId: 'm1', username: 'nobody', password }), { ...refused, count: 1 }],
    [() => sendRaw(port, { clientId: 'm2', ...dev, password: Buffer.from('no') }), { ...refused, count: 2 }],
    [() => sendRaw(port, { clientId: 'm3', ...dev, ...v5, password: Buffer.from('no') }), { ...refused, count: 3 }],
    [() => sendRaw(port, { clientId: 'm4' }), { ...refused, count: 4 }],
    [() => sendRaw(port, { clientId: 'm5', username: 'dev' }), { ...refused, count: 5 }],
    [() => sendRaw(port, { clientId: 'm6', username: 'off', password }), { ...refused, count: 6 }],
    [() => sendRaw(port, { clientId: 'm7', username: 'bound', password }), { ...refused, count: 7 }],
    [() => sendRaw(port, 'GET / HTTP/1.1\r\n\r\n'), { kind: 'CONNECT', reason: 'PROTOCOL_ERROR', count: 1 }],
    [
      () => sendRaw(port, Buffer.from('100e00044d5154540602003c00026331', 'hex')),
      { kind: 'CONNECT', reason: 'PROTOCOL_VERSION', address: '127.0.0.1' },
    ],
    [
      () => sendRaw(port, Buffer.from('100e00044d5154580402003c00026331', 'hex')),
      { kind: 'CONNECT', reason: 'PROTOCOL_VERSION', count: 2 },
    ],
    [() => sendRaw(port, generate(publish('ok/a'))), { kind: 'CONNECT', reason: 'PROTOCOL_ERROR', count: 2 }],
    [() => sendRaw(port, { clientId: 'm12', ...dev, will }), { kind: 'CONNECT', reason: 'PROTOCOL_ERROR', count: 3 }],
    [() => sendRaw(port, { clientId: 'a\u0001b', ...dev }), { kind: 'CONNECT', reason: 'PROTOCOL_ERROR', count: 4 }],
    [
      () => sendRaw(port, { clientId: 'm14', ...dev, ...v5, properties: { authenticationMethod: 'SCRAM' } }),
      { kind: 'CONNECT', reason: 'NOT_SUPPORTED' },
    ],
    [() => shakeHands(port), { kind: 'CONNECT', reason: 'PROTOCOL_ERROR', count: 5 }],
    [() => sendRaw(limited, { clientId: '', ...dev }), { kind: 'CONNECT', reason: 'PROTOCOL_ERROR', count: 6 }],
    [
      () => sendRaw(port, { clientId: 'm17', ...dev }, generate({ cmd: 'pingreq' }), Buffer.from([0, 0])),
      packet('m17', 'PROTOCOL_ERROR'),
    ],
    [
      () => sendRaw(port, { clientId: 'm18', ...dev }, Buffer.from('82090001' + '0004612b2f6200', 'hex')),
      packet('m18', 'INVALID_TOPIC'),
    ],
    [
      () => sendRaw(port, { clientId: 'm19', ...dev }, Buffer.from('360700016100013031', 'hex')),
      packet('m19', 'MALFORMED_PACKET'),
    ],
    [
      () => sendRaw(port, { clientId: 'm20', ...dev }, Buffer.from('30060003612f2b31', 'hex')),
      packet('m20', 'PROTOCOL_ERROR'),
    ],
    [() => sendRaw(limited, { clientId: 'm21', ...dev }, publish('ok/a', 2)), packet('m21', 'NOT_SUPPORTED')],
    [
      () =>
        sendRaw(
          limited,
          { clientId: 'm22', ...dev },
          Buffer.concat([Buffer.from([0x30, 0xff, 0x7f]), Buffer.alloc(64)]),
        ),
      packet('m22', 'PACKET_TOO_LARGE'),
    ],
    [
      () => {
        sendRaw(crowded, { clientId: 'm23', ...dev });
        sendRaw(crowded, { clientId: 'm24', ...dev });
      },
      { kind: 'CONNECT', reason: 'TOO_MANY_CONNECTIONS', address: '127.0.0.1' },
    ],
  ];
  const { next, clear } = await watchRefusals(service, brokerId);
  for (const [act, expected] of KINDS) {
    clear();
    act();
    const refusal = await next(() => true);
    expect(refusal).toMatchObject(expected);
  }
});

test('Mosquitto 2.0 reports why TLS handshakes failed', async () => {
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
    const refusal = await next(() => true);
    expect(refusal).toMatchObject({ kind: 'CONNECT', reason, address: '127.0.0.1' });
  }
});

test('what Mosquitto cannot report is an error that says what would help', async () => {
  const { service, brokerId } = await start();
  const denied = await listRefusals(service, brokerId, { kinds: ['PUBLISH', 'SUBSCRIBE'] });
  expect(codeOf(denied)).toBe('NOT_SUPPORTED_BY_BROKER');
  expect(denied.errors?.[0]?.message).toMatch(/log_type debug/);
  const { data } = await listRefusals(service, brokerId);
  expect(data.broker.refusals.reportedKinds).toEqual(['CONNECT', 'PACKET']);
  expect(data.broker.refusals.limit).toMatch(/explainAccess/);
});

test('a Mosquitto without log topics is NOT_SUPPORTED_BY_BROKER, never an empty list', async () => {
  const { service, brokerId } = await start([]);
  const answer = await listRefusals(service, brokerId);
  expect(answer.data.broker.refusals).toBeNull();
  expect(codeOf(answer)).toBe('NOT_SUPPORTED_BY_BROKER');
  expect(answer.errors?.[0]?.message).toMatch(/log_dest topic/);
});
