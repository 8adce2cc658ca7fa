import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { startWebhookBridge } from '../../../../src/data-plane/bridges/webhook/webhook-bridge.ts';
import type { WebhookConnectionConfig } from '../../../../src/data-plane/bridges/webhook/webhook-config.ts';
import { WebhookRequests } from '../../../../src/data-plane/bridges/webhook/webhook-requests.ts';
import { createAuthority } from '../../../support/certificates.ts';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { connect, useTestBroker } from '../../broker/embedded.ts';
import { bridgeOptions, publishAll, runBridge } from '../sink/running-bridge.ts';
import { type Endpoint, type SentRequest, startEndpoint } from './endpoint.ts';

const KEYS = [Buffer.from('0123456789abcdef01234567'), Buffer.alloc(64, 7)];
const SECRETS = KEYS.map((key) => `whsec_${key.toString('base64')}`);
const [SECRET = ''] = SECRETS;

async function startWith(
  endpoint: Endpoint | string,
  rest: Partial<WebhookConnectionConfig> = {},
  allowedHosts: readonly string[] = [],
) {
  const mosquitto = await startMosquitto();
  const folder = temporaryFolder();
  const url = typeof endpoint === 'string' ? endpoint : endpoint.url;
  const config = { connections: [{ name: 'hook', url, secret: SECRET, topics: ['plant/#'], ...rest }] };
  const options = { ...bridgeOptions('webhook-bridge', mosquitto.url, folder), rules: { allowedHosts } };
  const running = await runBridge(startWebhookBridge, options, config);
  await running.until(({ state }) => state === 'CONNECTED');
  return { ...running, mosquitto, config, folder, options, client: await mosquitto.client() };
}

const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => [`plant/${index}`, `${index}`] as const);
const topicsOf = (messages: readonly { readonly topic: string }[]) => messages.map(({ topic }) => topic);

/** A second implementation of the specification. */
function isSignedBy(key: Buffer, { headers, text }: SentRequest): boolean {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`;
  const expected = createHmac('sha256', key).update(signed, 'utf8').digest();
  return String(headers['webhook-signature'])
    .split(' ')
    .some((signature) => {
      const [version, value = ''] = signature.split(',');
      const given = Buffer.from(value, 'base64');
      return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
    });
}

test('messages come in batches, in their order, signed by each secret', async () => {
  const endpoint = await startEndpoint();
  const { until, client } = await startWith(endpoint, {
    secret: SECRETS.join(' '),
    headers: { Authorization: 'Bearer token' },
    batch: { maxMessages: 40 },
  });
  const messages = numbered(250);

  await publishAll(client, messages);
  const status = await until(({ delivered }) => delivered === messages.length);

  expect(status).toMatchObject({ connectionName: 'hook', queuedMessages: 0, dropped: 0, rejected: 0 });
  expect(endpoint.taken.map(({ topic, payload }) => [topic, payload])).toEqual(messages);
  expect(endpoint.requests.length).toBeLessThan(messages.length / 4);
  expect(endpoint.mostAtOnce).toBe(1);
  expect(new Set(endpoint.taken.map(({ id }) => id)).size).toBe(messages.length);
  expect(new Set(endpoint.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(endpoint.requests.length);
  for (const request of endpoint.requests) {
    for (const key of KEYS) expect(isSignedBy(key, request)).toBe(true);
    expect(isSignedBy(Buffer.alloc(24, 1), request)).toBe(false);
    expect(isSignedBy(KEYS[0] as Buffer, { ...request, text: `${request.text} ` })).toBe(false);
    expect(request.headers).toMatchObject({ authorization: 'Bearer token', 'content-type': 'application/json' });
    expect(request.path).toBe('/hooks?from=test');
    expect(request.messages.length).toBeLessThanOrEqual(40);
  }
});

test('a body contains all messages, with payloads in the configured format', async () => {
  const endpoint = await startEndpoint();
  const { until, client, config, bridge, mosquitto } = await startWith(endpoint, { payload: 'json' });
  const five = await mosquitto.client({ protocolVersion: 5 });
  const json = '{"exact":12345678901234567890,"nested":[1,null]}';
  await client.publishAsync('plant/json', json, { qos: 1 });
  await client.publishAsync('plant/text "quoted"', 'no json\u2028\n', { qos: 1 });
  await client.publishAsync('plant/bytes', Buffer.from([0xff, 0, 1]), { qos: 1 });
  await five.publishAsync('plant/properties', 'x', {
    qos: 1,
    retain: true,
    properties: { contentType: 'text/plain', userProperties: { a: ['1', '2'] } },
  });
  await until(({ delivered }) => delivered === 4);

  const common = { qos: 1, retain: false, id: expect.any(String), receivedAt: expect.stringMatching(/^20.*Z$/) };
  expect(endpoint.taken).toEqual([
    { ...common, topic: 'plant/json', json: JSON.parse(json) },
    { ...common, topic: 'plant/text "quoted"', payload: 'no json\u2028\n' },
    { ...common, topic: 'plant/bytes', payloadBase64: '/wAB' },
    {
      ...common,
      topic: 'plant/properties',
      payload: 'x',
      retain: true,
      contentType: 'text/plain',
      userProperties: [
        ['a', '1'],
        ['a', '2'],
      ],
    },
  ]);
  const [first] = endpoint.requests;
  expect(first?.text).toContain(json);
  expect(JSON.parse(first?.text ?? '')).toMatchObject({
    type: 'mqtt.messages',
    timestamp: expect.stringMatching(/Z$/),
    data: { brokerId: 'plant', connection: 'hook' },
  });

  const [connection] = config.connections;
  if (connection === undefined) throw new Error('no connection');
  await bridge.apply({ connections: [{ ...connection, payload: 'base64' }] });
  const large = 'x'.repeat(1_000_000);
  await client.publishAsync('plant/large', large, { qos: 1 });
  await until(({ delivered }) => delivered === 5);
  expect(endpoint.taken.at(-1)?.payloadBase64).toBe(Buffer.from(large).toString('base64'));
});

test('a batch that is refused temporarily is sent again after Retry-After, with the same id and a new signature', async () => {
  const answers = [503, 429, 408, 425, 500];
  const endpoint = await startEndpoint((_request, response, index) => {
    const status = answers[index];
    if (status === 429) {
      response.writeHead(429, { 'retry-after': '1' }).end();
      return undefined;
    }
    return status ?? 204;
  });
  const { until, client } = await startWith(endpoint);
  const waiting = until(({ state }) => state === 'UNREACHABLE');
  await publishAll(client, numbered(10));

  expect((await waiting).error).toMatch(/^The endpoint responded with \d+$/);
  const status = await until(({ delivered, state }) => delivered === 10 && state === 'CONNECTED');

  expect(status).toMatchObject({ rejected: 0, dropped: 0, queuedMessages: 0 });
  expect(status.error).toBeUndefined();
  const retried = endpoint.requests.slice(0, answers.length + 1);
  expect(new Set(retried.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect(new Set(retried.map(({ text }) => text)).size).toBe(1);
  for (const request of retried) expect(isSignedBy(KEYS[0] as Buffer, request)).toBe(true);
  const [, second, third] = retried;
  expect((third?.at ?? 0) - (second?.at ?? 0)).toBeGreaterThanOrEqual(990);
  expect(topicsOf(endpoint.taken)).toEqual(numbered(10).map(([topic]) => topic));
});

test('of a batch that is refused the message to blame is found and counted, and all others get there', async () => {
  const endpoint = await startEndpoint(({ messages, text }) => {
    if (messages.some(({ payload }) => payload === 'poison')) return 422;
    return text.length > 2_000 ? 413 : 200;
  });
  const { until, client } = await startWith(endpoint);
  const messages = [...numbered(40), ['plant/bad', 'poison'] as const, ...numbered(20)];
  await publishAll(client, [...messages, ['plant/large', 'x'.repeat(3_000)]]);

  const status = await until(({ delivered, rejected }) => delivered + rejected === messages.length + 1);

  expect(status).toMatchObject({ state: 'CONNECTED', delivered: 60, rejected: 2, dropped: 0 });
  expect(status).toMatchObject({
    lastRejection: { at: expect.any(Number), reason: 'The endpoint responded with 413' },
  });
  expect(status).not.toHaveProperty('error');
  expect(topicsOf(endpoint.taken)).toEqual(
    topicsOf(messages.map(([topic]) => ({ topic }))).filter((t) => t !== 'plant/bad'),
  );
});

test.each([
  [401, 'UNAUTHORISED', 'The endpoint responded with 401'],
  [404, 'FAILED', 'The endpoint responded with 404'],
  [302, 'FAILED', 'The endpoint responded with 302: redirects are not followed'],
] as const)('a response %i is reported as %s, and the request is retried', async (status, state, error) => {
  const other = await startEndpoint();
  let isMended = false;
  const endpoint = await startEndpoint((_request, response) => {
    if (isMended) return 200;
    response.writeHead(status, { location: other.url }).end();
    return undefined;
  });
  const { until, client } = await startWith(endpoint);
  await client.publishAsync('plant/1', '1', { qos: 1 });

  expect(await until((told) => told.state === state)).toMatchObject({ error, isConnected: false, queuedMessages: 1 });
  isMended = true;
  await until(({ delivered }) => delivered === 1);

  expect(other.requests).toEqual([]);
});

test('an endpoint that is gone gets nothing until the configuration changes', async () => {
  let isGone = true;
  const endpoint = await startEndpoint(() => (isGone ? 410 : 200));
  const { until, client, bridge, config, status } = await startWith(endpoint);
  await client.publishAsync('plant/1', '1', { qos: 1 });
  await until(({ state }) => state === 'FAILED');
  isGone = false;
  await publishAll(client, numbered(30));
  await until(({ queuedMessages }) => queuedMessages === 31);
  expect(endpoint.requests).toHaveLength(1);
  expect(status()).toMatchObject({ state: 'FAILED', delivered: 0 });

  const [connection] = config.connections;
  if (connection === undefined) throw new Error('no connection');
  await bridge.apply({ connections: [{ ...connection, timeoutMs: 5_000 }] });
  await until(({ delivered }) => delivered === 31);
  expect(endpoint.taken).toHaveLength(31);
});

test('an https endpoint is verified against the given authority, and sees the certificate of this client', async () => {
  const authority = createAuthority();
  const { cert, key } = authority.issue();
  const named: unknown[] = [];
  const endpoint = await startEndpoint(
    (_request, { req }) => {
      named.push((req.socket as TLSSocket).getPeerCertificate().subject?.CN);
      return 200;
    },
    0,
    { cert, key, ca: authority.cert, requestCert: true },
  );
  const bridge = authority.issue({ name: 'bridge' });
  const tls = { ca: authority.cert, cert: bridge.cert, key: bridge.key };
  const { until, client, bridge: running, config, status } = await startWith(endpoint, tls);
  await publishAll(client, numbered(2));
  await until(({ delivered }) => delivered === 2);
  expect(new Set(named)).toEqual(new Set(['bridge']));

  const [connection] = config.connections;
  if (connection === undefined) throw new Error('no connection');
  const elsewhere = authority.issue({ altNames: ['DNS:elsewhere.example'] });
  const another = await startEndpoint(undefined, 0, { cert: elsewhere.cert, key: elsewhere.key });
  for (const [url, changes, reason] of [
    [endpoint.url, { ca: createAuthority().cert }, 'by a CA that is not known, "Test authority": add'],
    [endpoint.url, { ca: undefined, cert: undefined, key: undefined }, 'of this CA as "ca"'],
    [another.url, {}, 'another host name than 127.0.0.1: it has elsewhere.example'],
  ] as const) {
    await running.apply({ connections: [JSON.parse(JSON.stringify({ ...connection, url, ...changes }))] });
    await client.publishAsync('plant/refused', 'x', { qos: 1 });
    expect((await until(({ state }) => state === 'UNREACHABLE')).error).toContain(reason);
  }
  await running.apply({ connections: [{ ...connection, url: another.url, verifyCa: false }] });
  await until(({ queuedMessages, delivered }) => queuedMessages === 0 && delivered > 2);
  expect(status().rejected).toBe(0);
  expect(another.taken.length).toBe(3);
});

test('a name that resolves to an address that is not allowed gets nothing', async () => {
  const endpoint = await startEndpoint();
  const url = endpoint.url.replace('127.0.0.1', 'localhost');
  const refused = await startWith(url, {}, ['localhost', '10.0.0.0/8']);
  await refused.client.publishAsync('plant/1', 'x', { qos: 1 });
  const { error } = await refused.until(({ state }) => state === 'UNREACHABLE');
  expect(error).toBe(
    'The endpoint cannot be reached: "localhost" resolves to an address that is not allowed (setting BROKER_ALLOWED_HOSTS)',
  );
  await refused.bridge.close({ discard: false });
  expect(endpoint.requests).toEqual([]);

  const allowed = await runBridge(
    startWebhookBridge,
    { ...refused.options, rules: { allowedHosts: ['localhost', '127.0.0.0/8'] } },
    refused.config,
  );
  await allowed.until(({ delivered }) => delivered === 1);
});

test('an endpoint that does not answer, or answers without an end, is given up in time', async () => {
  const endpoint = await startEndpoint((_request, response, index) => {
    if (index === 0) return undefined;
    if (index > 1) return 200;
    const endless = () => {
      while (response.write(Buffer.alloc(16_384)));
    };
    response.writeHead(500).on('drain', endless);
    endless();
    return undefined;
  });
  const { until, client } = await startWith(endpoint, { timeoutMs: 300 });
  const late = until(({ state }) => state === 'UNREACHABLE');
  await client.publishAsync('plant/1', '1', { qos: 1 });

  expect((await late).error).toBe('The endpoint did not respond within 300 ms');
  await until(({ delivered }) => delivered === 1);
  expect(endpoint.requests.length).toBeGreaterThanOrEqual(3);
});

test('an endpoint that is down while messages come gets all of them, once each, when it is back', async () => {
  const first = await startEndpoint();
  const { until, client } = await startWith(first);
  await publishAll(client, numbered(50));
  await until(({ delivered }) => delivered === 50);
  await first.stop();
  const later = Array.from({ length: 1_500 }, (_, index) => [`plant/later/${index}`, 'x'] as const);
  await publishAll(client, later);
  const down = await until(({ state, queuedMessages }) => state === 'UNREACHABLE' && queuedMessages === later.length);
  expect(down.isConnected).toBe(false);
  expect(down.error).toContain('ECONNREFUSED');

  const second = await startEndpoint(undefined, Number(new URL(first.url).port));
  await until(({ delivered }) => delivered === 1_550);

  expect(topicsOf(second.taken)).toEqual(later.map(([topic]) => topic));
  expect(second.requests.every((request) => isSignedBy(KEYS[0] as Buffer, request))).toBe(true);
});

test('messages and batches keep their ids when the bridge is restarted', async () => {
  const refusing = await startEndpoint(() => 503);
  const { until, client, bridge, config, options } = await startWith(refusing);
  await publishAll(client, numbered(5));
  await until(({ queuedMessages, state }) => queuedMessages === 5 && state === 'UNREACHABLE');
  await bridge.close({ discard: false });
  await refusing.stop();
  const accepting = await startEndpoint(() => 200, Number(new URL(refusing.url).port));

  const second = await runBridge(startWebhookBridge, options, config);
  await second.until(({ delivered }) => delivered === 5);

  const before = new Map(
    refusing.requests.flatMap(({ messages }) => messages.map(({ topic, id }) => [topic, id] as const)),
  );
  expect(topicsOf(accepting.taken)).toEqual(numbered(5).map(([topic]) => topic));
  for (const { topic, id } of accepting.taken) expect(before.get(topic) ?? id).toBe(id);
});

test('a configuration that changes while a request is under way loses nothing', async () => {
  const silent = await startEndpoint(() => undefined);
  const { until, client, bridge, config } = await startWith(silent);
  await publishAll(client, numbered(20));
  await until(({ received }) => received === 20);
  const endpoint = await startEndpoint();
  const [connection] = config.connections;
  if (connection === undefined) throw new Error('no connection');

  await bridge.apply({ connections: [{ ...connection, url: endpoint.url }] });
  await until(({ delivered }) => delivered === 20);

  expect(topicsOf(endpoint.taken)).toEqual(numbered(20).map(([topic]) => topic));
});

const embedded = useTestBroker();

test('with an embedded broker', async () => {
  const endpoint = await startEndpoint();
  const { mqttPort } = embedded();
  const options = bridgeOptions('webhook-bridge', `mqtt://127.0.0.1:${mqttPort}`, temporaryFolder());
  const client: MqttClient = await connect(mqttPort);
  const local = { ...options.local, username: 'admin', password: 'correct horse' };
  const config = {
    connections: [{ name: 'hook', url: endpoint.url, secret: SECRET, topics: ['plant/+', 'plant/#', '+/7'] }],
  };
  const { until, bridge } = await runBridge(startWebhookBridge, { ...options, local }, config);
  await until(({ state }) => state === 'CONNECTED');

  await publishAll(client, numbered(100));
  await until(({ delivered }) => delivered === 100);

  expect(endpoint.taken.map(({ topic, payload }) => [topic, payload])).toEqual(numbered(100));
  await bridge.close({ discard: true });
});

test('an endpoint that sends interim responses without end costs one connection and no time', async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => {});
    const send = () => {
      while (!socket.destroyed && socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(100)));
    };
    socket.on('drain', send).once('data', send);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { until, client } = await startWith(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await publishAll(client, numbered(1));
  const { error } = await until(({ state }) => state === 'UNREACHABLE');
  expect(error).toContain('more than 10 interim responses (1xx)');
  expect(connections).toBe(1);
});

test('a response in many small pieces is read up to its first hundred', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () =>
      socket.end(`HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(10_000)}0\r\n\r\n`),
    );
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const requests = new WebhookRequests(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    {},
    undefined,
    65_536,
  );
  const { status, body } = await requests.post(Buffer.from('{}'), {}, AbortSignal.timeout(60_000));
  expect([status, String(body)]).toEqual([500, expect.stringMatching(/^x{100,110}$/)]);
});
