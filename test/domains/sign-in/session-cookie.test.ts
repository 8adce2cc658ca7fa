import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import { SessionCookie } from '../../../src/gateway/http/session-cookie.ts';
import { send } from '../../gateway/http/requests.ts';
import { CHROMIUM_MISSING, hasChromium, startChromium } from '../../support/chromium.ts';
import { bearer, startTestService, type TestService } from '../../support/service.ts';

const OWN = { 'sec-fetch-site': 'same-origin' };
const JSON_BODY = { 'content-type': 'application/json' };
const VIEWER = '{ viewer { user { email } } }';

const port = ({ url }: TestService) => Number(new URL(url).port);

const openSession = (service: TestService, token: string, headers: Record<string, string> = OWN) =>
  send(port(service), '/auth/session', {
    method: 'POST',
    headers: { ...JSON_BODY, ...headers },
    body: JSON.stringify({ token }),
  });

/** The cookie of a browser as it sends it. */
async function cookieOf(service: TestService, token: string): Promise<string> {
  const { headers } = await openSession(service, token);
  return headers['set-cookie']?.[0]?.split(';')[0] ?? '';
}

async function ask(service: TestService, headers: Record<string, string>, query = VIEWER) {
  const { status, text } = await send(port(service), '/graphql', {
    method: 'POST',
    headers: { ...JSON_BODY, ...headers },
    body: JSON.stringify({ query }),
  });
  return { status, ...JSON.parse(text) };
}

test('a session becomes a cookie that scripts cannot read, with the prefix and Secure if the service has https', async () => {
  const plain = await startTestService();
  const { token } = await plain.person('VIEWER');
  const opened = await openSession(plain, token);
  expect(opened.status).toBe(204);
  expect(opened.headers['set-cookie']).toEqual([
    `brokergraph-session=${token}; Max-Age=2592000; Path=/; HttpOnly; SameSite=Strict`,
  ]);
  const secure = await startTestService({ env: { PUBLIC_URL: 'https://mqtt.example.com/plant/' } });
  const person = await secure.person('VIEWER');
  const { headers } = await openSession(secure, person.token);
  expect(headers['set-cookie']).toEqual([
    `__Host-brokergraph-session-plant=${person.token}; Max-Age=2592000; Path=/; HttpOnly; SameSite=Strict; Secure`,
  ]);
  // Another host of the domain may set a cookie without the prefix.
  const planted = await ask(secure, { cookie: `brokergraph-session=${person.token}`, ...OWN });
  expect(planted.errors[0].extensions.code).toBe('UNAUTHORIZED');
  const own = await ask(secure, { cookie: `__Host-brokergraph-session-plant=${person.token}`, ...OWN });
  expect(own.data.viewer.user.email).toBe(person.email);
});

test.each([
  [{ port: 4_000 }, 'brokergraph-session-4000'],
  [{ port: 0 }, 'brokergraph-session'],
  [{ port: 4_000, publicUrl: 'http://plant.example:8080/mqtt/' }, 'brokergraph-session-8080-mqtt'],
  [{ port: 4_000, publicUrl: 'https://plant.example:8443' }, '__Host-brokergraph-session-8443'],
  [{ port: 4_000, publicUrl: 'https://plant.example' }, '__Host-brokergraph-session'],
])('services at several ports of one host have cookies of their own: %o', (place, name) => {
  expect(new SessionCookie({ ...place, maxAge: 1 }).containing('t')).toMatch(`${name}=t;`);
});

test('only the token of a session, sent by a page of this service as JSON, becomes a cookie', async () => {
  const service = await startTestService();
  const { token } = await service.person('EDITOR');
  const codeOf = ({ status, text, headers }: Awaited<ReturnType<typeof openSession>>) => {
    expect(headers['set-cookie']).toBeUndefined();
    return [status, JSON.parse(text).code];
  };
  for (const site of ['cross-site', 'same-site', 'none']) {
    expect(codeOf(await openSession(service, token, { 'sec-fetch-site': site }))).toEqual([403, 'NOT_ALLOWED']);
  }
  expect(codeOf(await openSession(service, token, {}))).toEqual([403, 'NOT_ALLOWED']);
  expect(codeOf(await openSession(service, token, { origin: 'http://evil.example' }))).toEqual([403, 'NOT_ALLOWED']);
  expect((await openSession(service, token, { origin: service.url })).status).toBe(204);
  expect(codeOf(await openSession(service, 'bgs_unknown'))).toEqual([401, 'UNAUTHORIZED']);
  const created = await service.graphql(
    'mutation ($input: CreateTokenInput!) { createToken(input: $input) { secret } }',
    { input: { projectId: service.projectId, name: 'program', role: 'VIEWER' } },
  );
  expect(codeOf(await openSession(service, created.data.createToken.secret))).toEqual([400, 'INVALID']);
  const raw = (body: string, type: string) =>
    send(port(service), '/auth/session', { method: 'POST', headers: { ...OWN, 'content-type': type }, body });
  expect(codeOf(await raw(JSON.stringify({ token }), 'text/plain'))).toEqual([400, 'INVALID']);
  for (const body of ['', 'null', '[]', '{}', '{"token":1}', '{"token":'])
    expect(codeOf(await raw(body, 'application/json'))).toEqual([400, 'INVALID']);
  expect(codeOf(await raw(`{"token":"${'x'.repeat(2_000)}"}`, 'application/json'))).toEqual([413, 'TOO_LARGE']);
  const other = await send(port(service), '/auth/session', { headers: OWN });
  expect([other.status, other.headers.allow]).toEqual([405, 'POST, DELETE']);
});

test('the cookie serves queries, REST and downloads for pages of this service only, and a bearer token wins', async () => {
  const service = await startTestService();
  const { token, email } = await service.person('VIEWER');
  const cookie = await cookieOf(service, token);
  expect((await ask(service, { cookie, ...OWN })).data.viewer.user.email).toBe(email);
  expect((await ask(service, { cookie, origin: service.url })).data.viewer.user.email).toBe(email);
  for (const headers of [{}, { 'sec-fetch-site': 'cross-site' }, { origin: 'http://evil.example' }] as const) {
    const { status, errors } = await ask(service, { cookie, ...headers });
    expect([status, errors[0].extensions.code]).toEqual([403, 'NOT_ALLOWED']);
  }
  const both = await ask(service, { cookie, ...bearer(service.root), 'sec-fetch-site': 'cross-site' });
  expect(both.data.viewer.user.email).toBe('root@example.com');
  const projects = (headers: Record<string, string>) => send(port(service), '/api/projects', { headers });
  expect((await projects({ cookie, ...OWN })).status).toBe(200);
  expect((await projects({ cookie, 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  expect((await projects({ cookie })).status).toBe(403);
  const root = await cookieOf(service, service.root);
  const download = await send(port(service), '/audit.jsonl', { headers: { cookie: root, ...OWN } });
  expect(download.headers['content-type']).toMatch(/jsonl/);
  const get = `/graphql?query=${encodeURIComponent(VIEWER)}`;
  expect((await send(port(service), get, { headers: { cookie, ...OWN } })).text).toContain(email);
  expect((await send(port(service), get, { headers: { cookie } })).status).toBe(403);
});

test('a WebSocket of a page uses the cookie of its upgrade request, and ends with the session', async () => {
  const service = await startTestService();
  const { token } = await service.person('VIEWER');
  const cookie = await cookieOf(service, token);
  const open = (headers: Record<string, string>) => {
    const socket = new WebSocket(`${service.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', { headers });
    onTestFinished(() => socket.terminate());
    socket.on('open', () => socket.send(JSON.stringify({ type: 'connection_init' })));
    const next = async (type: string) => {
      for (;;) {
        const [data] = await once(socket, 'message');
        const message = JSON.parse(String(data));
        if (message.type === type) return message;
      }
    };
    return { socket, next };
  };
  const own = open({ cookie, origin: service.url });
  await own.next('connection_ack');
  const query = `subscription { brokerStatus(projectId: "${service.projectId}") { kind } }`;
  own.socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query } }));
  expect((await own.next('next')).payload.data.brokerStatus.kind).toBe('SNAPSHOT');
  const [foreign] = await once(open({ cookie, origin: 'http://evil.example' }).socket, 'error');
  expect(foreign.message).toMatch(/403/);
  const program = open({ cookie });
  expect((await once(program.socket, 'close'))[0]).toBe(4403);

  const closed = once(own.socket, 'close');
  const ended = await send(port(service), '/auth/session', { method: 'DELETE', headers: { cookie, ...OWN } });
  expect([ended.status, ended.headers['set-cookie']]).toEqual([
    204,
    ['brokergraph-session=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict'],
  ]);
  expect((await closed)[0]).toBe(4403);
  expect((await ask(service, { cookie, ...OWN })).status).toBe(401);
  // The cookie of an ended session is deleted as well.
  const again = await send(port(service), '/auth/session', { method: 'DELETE', headers: { cookie, ...OWN } });
  expect([again.status, again.headers['set-cookie']?.length]).toEqual([204, 1]);
  const foreignLogout = { cookie, 'sec-fetch-site': 'cross-site' };
  expect((await send(port(service), '/auth/session', { method: 'DELETE', headers: foreignLogout })).status).toBe(403);
  const { data } = await service.graphql('{ auditEvents(first: 5) { nodes { operation } } }');
  expect(data.auditEvents.nodes).toContainEqual({ operation: 'logout' });
});

/** A page of another site that tries to act for a user of the service. */
const foreignPage = (
  url: string,
) => `<!doctype html><title>evil</title><iframe id="frame" src="${url}/graphql"></iframe>
<form id="form" method="post" enctype="text/plain" action="${url}/graphql" target="out"><input name='{"query":"{ viewer { user { email } } }","x":"' value='"}'></form>
<iframe name="out"></iframe>
<script type="module">
const results = {};
const ask = (options) => fetch('${url}/graphql', { method: 'POST', credentials: 'include', body: '{"query":"{ viewer { user { email } } }"}', ...options })
  .then((response) => response.text(), (error) => String(error));
results.json = await ask({ headers: { 'content-type': 'application/json' } });
results.opaque = await fetch('${url}/graphql', { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}' }).then((r) => r.type, String);
results.session = await fetch('${url}/auth/session', { method: 'DELETE', credentials: 'include' }).then((r) => r.status, String);
results.socket = await new Promise((resolve) => {
  const socket = new WebSocket('${url.replace('http', 'ws')}/graphql', 'graphql-transport-ws');
  socket.onopen = () => resolve('open');
  socket.onerror = () => resolve('refused');
});
document.getElementById('form').submit();
document.title = JSON.stringify(results);
</script>`;

test.skipIf(!hasChromium)(
  hasChromium ? 'a browser keeps the cookie from scripts and from pages of other sites' : CHROMIUM_MISSING,
  async () => {
    const service = await startTestService();
    const { token, email } = await service.person('VIEWER');
    const evil = createServer((_req, res) => res.setHeader('content-type', 'text/html').end(foreignPage(service.url)));
    evil.listen(0, '127.0.0.1');
    await once(evil, 'listening');
    onTestFinished(() => void evil.close());
    const context = await (await startChromium()).newContext();
    const page = await context.newPage();
    await page.goto(`${service.url}/healthz`);
    const inPage = (text: string) => page.evaluate(text);
    const post = `fetch('/auth/session', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '${JSON.stringify({ token })}' })`;
    expect(await inPage(`${post}.then(({ status }) => status)`)).toBe(204);
    expect(await inPage('document.cookie')).toBe('');
    const asked = `fetch('/graphql', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"query":"${VIEWER}"}' })`;
    expect(await inPage(`${asked}.then((response) => response.text())`)).toContain(email);
    const opens = `new Promise((resolve) => {
      const socket = new WebSocket(location.origin.replace('http', 'ws') + '/graphql', 'graphql-transport-ws');
      socket.onopen = () => socket.send('{"type":"connection_init"}');
      socket.onmessage = ({ data }) => resolve(JSON.parse(data).type);
      socket.onclose = ({ code }) => resolve(code);
    })`;
    expect(await inPage(opens)).toBe('connection_ack');

    const foreign = await context.newPage();
    const answered: string[] = [];
    foreign.on('response', (response) => {
      if (response.url().startsWith(service.url))
        void response.text().then(
          (text) => answered.push(text),
          () => {},
        );
    });
    // The same port number on another host name is another site.
    await foreign.goto(`http://localhost:${(evil.address() as AddressInfo).port}/`);
    await foreign.waitForFunction(`document.title.startsWith('{')`);
    const results = JSON.parse(await foreign.title());
    expect(results).toEqual({
      json: expect.stringContaining('TypeError'),
      opaque: 'opaque',
      session: expect.stringContaining('TypeError'),
      socket: 'refused',
    });
    expect(answered.join()).not.toContain(email);
    expect(await inPage(`${asked}.then((response) => response.text())`)).toContain(email);
  },
);
