import { once } from 'node:events';
import { get } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { acceptedEncoding } from '../../../src/gateway/http/accepted-encoding.ts';
import { Compression } from '../../../src/gateway/http/compression.ts';
import { bearer, ROOT, startTestService, type TestService } from '../../support/service.ts';
import { makeLamps, startLampServer } from '../rest/rest-server.ts';
import { type Reply, send } from './requests.ts';

test.each([
  [undefined, null],
  ['', null],
  ['gzip', 'gzip'],
  ['br', 'br'],
  ['gzip, deflate, br', 'br'],
  ['GZIP;Q=0.8, BR;q=0.5', 'gzip'],
  ['gzip;q=0, br;q=0', null],
  ['*', 'br'],
  ['*;q=0.5, br;q=0', 'gzip'],
  ['gzip;q=0.5, identity', null],
  ['identity;q=0.5, gzip;q=0.5', 'gzip'],
  ['identity;q=0, gzip;q=0.1', 'gzip'],
  ['identity', null],
  ['deflate, zstd', null],
  ['gzip;q=2', null],
  ['gzip;level=9', null],
  [`${'x,'.repeat(8_000)}br`, 'br'],
])('Accept-Encoding %s selects %s', (accept, encoding) => {
  expect(acceptedEncoding(accept)).toBe(encoding);
});

const decoded = ({ headers, bytes }: Reply): string => {
  const { 'content-encoding': encoding } = headers;
  if (encoding === 'br') return brotliDecompressSync(bytes).toString();
  return (encoding === 'gzip' ? gunzipSync(bytes) : bytes).toString();
};

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** Sends a request with each encoding. The decoded responses are equal; the time of a response is not compared. */
async function withEachEncoding(
  { port, root }: Pick<TestService, 'port' | 'root'>,
  path: string,
  { headers, ...parts }: Sent = {},
) {
  const replies = new Map<string, Reply>();
  let first: string | null = null;
  for (const encoding of ['identity', 'gzip', 'br']) {
    const all = { ...bearer(root), ...headers, 'accept-encoding': encoding };
    const reply = await send(port, path, { ...parts, headers: all });
    first ??= decoded(reply);
    expect([path, encoding, decoded(reply) === first]).toEqual([path, encoding, true]);
    replies.set(encoding, reply);
  }
  return replies;
}

const LAMPS = '/api/projects/p1/lamps';
const CREATE_PROJECT = 'mutation ($name: String!) { createProject(input: { name: $name }) { project { id } } }';
const LIST = '{ projects { nodes { id name viewerRole } } }';

async function serviceWithProjects(count: number): Promise<TestService> {
  const service = await startTestService({ env: { MAX_PROJECTS_PER_USER: '5000' } });
  for (let i = 0; i < count; i++) await service.graphql(CREATE_PROJECT, { name: `Plant ${i} – Köln` });
  return service;
}

test('REST, the graph and documents are the same bytes with each encoding', async () => {
  const service = await serviceWithProjects(30);
  const json = { 'content-type': 'application/json' };
  const query = `/graphql?query=${encodeURIComponent(LIST)}`;
  const requests: readonly (readonly [path: string, sent?: Sent])[] = [
    ['/api/projects'],
    ['/graphql', { method: 'POST', headers: json, body: JSON.stringify({ query: LIST }) }],
    [query],
    ['/api/openapi.json'],
    ['/api/docs'],
  ];
  for (const [path, sent = {}] of requests) {
    const replies = await withEachEncoding(service, path, sent);
    for (const [encoding, { status, headers, bytes }] of replies) {
      const isCompressed = encoding !== 'identity';
      expect([path, status, headers['content-encoding']]).toEqual([path, 200, isCompressed ? encoding : undefined]);
      expect(headers.vary).toBe(isCompressed ? 'Accept-Encoding' : undefined);
      expect(Number(headers['content-length'])).toBe(bytes.length);
      if (isCompressed) expect(bytes.length * 2).toBeLessThan(replies.get('identity')?.bytes.length ?? 0);
    }
    if (sent.method === 'POST' || path === query) continue;
    const headers = { ...bearer(service.root), 'accept-encoding': 'br' };
    const head = await send(service.port, path, { method: 'HEAD', headers });
    // The length of the compressed body is not known without compressing it.
    expect([head.status, head.headers['content-encoding'], head.headers['content-length'], head.text]).toEqual([
      200,
      'br',
      undefined,
      '',
    ]);
  }
});

test('lists and downloads that are read page by page are the same bytes with each encoding', async () => {
  const service = await serviceWithProjects(30);
  const lamps = await startLampServer({ lamps: makeLamps(3_500) });
  const sources = [
    [service, '/audit.jsonl?from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z'],
    [{ port: lamps.port, root: 'viewer' }, `${LAMPS}?count=-1`],
  ] as const;
  for (const [source, path] of sources) {
    const replies = await withEachEncoding(source, path);
    for (const [encoding, { headers, bytes }] of replies) {
      expect(headers['content-length']).toBeUndefined();
      if (encoding === 'identity') continue;
      expect([headers['content-encoding'], headers.vary]).toEqual([encoding, 'Accept-Encoding']);
      expect(bytes.length * 2).toBeLessThan(replies.get('identity')?.bytes.length ?? 0);
    }
  }
});

test('a failure in the middle of a compressed list closes the connection', async () => {
  const lamps = makeLamps(3_000);
  lamps[2_500] = { id: 'l2500', name: 'trap', state: 'ON', room: { floor: 1, owner: null } };
  const { port, logged } = await startLampServer({ lamps });
  const headers = { ...bearer('viewer'), 'accept-encoding': 'gzip' };
  await expect(send(port, LAMPS, { headers })).rejects.toThrow();
  expect(logged).toHaveLength(1);
  expect((await send(port, `${LAMPS}?count=1`, { headers })).status).toBe(200);
});

test('responses that may contain a new secret, small ones and event streams are not compressed', async () => {
  const service = await startTestService();
  const { port, root, projectId } = service;
  const json = { 'content-type': 'application/json', 'accept-encoding': 'br, gzip' };
  const login = `mutation { login(input: { email: "${ROOT.email}", password: "${ROOT.password}" }) { token ${'user { id } '.repeat(2)} } }`;
  const aliases = Array.from(
    { length: 25 },
    (_, i) => `a${i}: createProject(input: { name: "n${i}" }) { project { id name } }`,
  );
  for (const headers of [json, { ...json, accept: 'text/event-stream' }]) {
    const post = (query: string, token: string | null = root) =>
      send(port, '/graphql', {
        method: 'POST',
        headers: { ...headers, ...bearer(token) },
        body: JSON.stringify({ query }),
      });
    for (const reply of [
      await post(login, null),
      await post(`mutation { ${aliases.join(' ')} }`),
      await post('{ __typename }'),
    ]) {
      expect([reply.status, reply.headers['content-encoding'], reply.headers.vary]).toEqual([
        200,
        undefined,
        undefined,
      ]);
    }
  }
  const created = { method: 'POST', headers: { ...json, ...bearer(root) } };
  const token = await send(port, `/api/projects/${projectId}/tokens`, {
    ...created,
    body: '{"name":"t","role":"viewer"}',
  });
  expect(token.headers['content-encoding']).toBeUndefined();

  const query = encodeURIComponent(`subscription { brokerStatus(projectId: "${projectId}") { kind } }`);
  const headers = { ...bearer(root), accept: 'text/event-stream', 'accept-encoding': 'br, gzip' };
  const request = get({ port, host: '127.0.0.1', path: `/graphql?query=${query}`, headers });
  const [response] = await once(request, 'response');
  expect(response.headers['content-encoding']).toBeUndefined();
  let text = '';
  for await (const chunk of response) {
    text += chunk;
    if (text.includes('SNAPSHOT')) break;
  }
  expect(text).toContain('event: next');
});

test('beyond the limits bodies are sent as they are', async () => {
  const compression = new Compression();
  const long = Buffer.alloc(100_000, 'text ');
  const headers = Array.from({ length: 4 }, (): Record<string, string> => ({}));
  const [first, second, third] = headers.map((fields) => compression.body(long, fields, 'br'));
  expect([first, second].map((body) => body instanceof Promise)).toEqual([true, true]);
  expect([third, headers[2]]).toEqual([null, {}]);
  expect(brotliDecompressSync((await first) ?? '').equals(long)).toBe(true);
  await second;
  expect(compression.body(long, {}, 'gzip')).toBeInstanceOf(Promise);

  const streams = Array.from({ length: 16 }, () => compression.stream({}, 'gzip'));
  expect([streams.includes(null), compression.stream({}, 'gzip')]).toEqual([false, null]);
  streams[0]?.destroy();
  await once(streams[0] as NonNullable<(typeof streams)[0]>, 'close');
  const replacement = compression.stream({}, 'br');
  expect(replacement).not.toBeNull();
  for (const stream of [...streams, replacement]) stream?.destroy();
});

test('a piece of a compressed stream is sent when it is written', async () => {
  for (const encoding of ['br', 'gzip']) {
    const stream = new Compression().stream({}, encoding);
    stream?.write('a short piece');
    const [chunk] = await once(stream as NonNullable<typeof stream>, 'data');
    expect(chunk.length).toBeGreaterThan(13);
    stream?.destroy();
  }
});
