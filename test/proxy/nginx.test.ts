import { readFileSync } from 'node:fs';
import { createClient } from 'graphql-sse';
import { describe, expect, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import { Broadcast } from '../../src/gateway/live/broadcast.ts';
import type { Tick } from '../gateway/graphql/graph.ts';
import { startGraphqlServer } from '../gateway/graphql/server.ts';
import { END_OF_RIGHTS, openedStream, openStream, TRANSPORTS, type Transport } from '../support/event-stream.ts';
import { hasNginx, NGINX_MISSING, startNginx } from '../support/nginx.ts';
import { startTestService, type TestService } from '../support/service.ts';

// By default nginx buffers responses, uses HTTP/1.0 for the upstream and closes connections after a minute without
// data. Event streams must work with these defaults.

type Site = (listen: string, upstream: string) => string;

/** Minimal settings, which work for all requests except WebSockets. */
const site =
  (more = ''): Site =>
  (listen, upstream) =>
    `server { listen ${listen}; location / { proxy_pass ${upstream}; ${more} } }`;

/** Settings for the upgrade of HTTP to WebSocket. */
const UPGRADE =
  'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";';

const DEFAULT_LINES: Record<Transport, string> = { WebSocket: UPGRADE, SSE: '' };

/** The example of docs/operation.md. */
const documented: Site = (listen, upstream) => {
  const text = readFileSync(new URL('../../docs/operation.md', import.meta.url), 'utf8');
  const example = /```nginx\n(.*?)```/s.exec(text)?.[1] ?? '';
  return example.replace(/listen [^;]+/, `listen ${listen}`).replace(/http:\/\/127\.0\.0\.1:4000/, upstream);
};

const STATUS = 'subscription ($p: ID!) { brokerStatus(projectId: $p) { kind brokers { broker { name } } } }';

const addBroker = (service: TestService, name: string) =>
  service.rest('POST', `/api/projects/${service.projectId}/brokers`, service.root, { name, url: 'mqtt://127.0.0.1:1' });

async function startTicks(keepAliveMs: number) {
  const state = { n: 0 };
  const ticks = new Broadcast<Tick, Tick>(() => ({ ...state }));
  const { port } = await startGraphqlServer({ ticks, keepAliveMs });
  const tick = () => {
    state.n += 1;
    ticks.publish({ ...state });
  };
  return { upstream: `http://127.0.0.1:${port}`, tick };
}

const TICKS = { query: 'subscription { ticks { n } }' };

describe.skipIf(!hasNginx)(hasNginx ? 'behind nginx' : NGINX_MISSING, () => {
  describe.each(TRANSPORTS)('%s', (transport) => {
    test.each<[string, Site]>([
      ['its own settings', site(DEFAULT_LINES[transport])],
      ['the documented settings', documented],
    ])(
      'with %s the snapshot and each change arrive before the next one, and then the error at the end',
      async (_settings, lines) => {
        const service = await startTestService();
        const { token, email } = await service.person('VIEWER');
        const url = await startNginx(service.url, lines);
        const status = { query: STATUS, variables: { p: service.projectId } };
        const stream = await openedStream(transport, { url }, token, status);
        for (const name of ['first', 'second']) {
          await addBroker(service, name);
          await stream.until(({ brokerStatus }) => brokerStatus.brokers[0]?.broker.name === name);
        }
        await service.services.projects.removeMember(service.projectId, email);
        const { close, errors } = await stream.ended;
        expect([close, errors]).toEqual([END_OF_RIGHTS[transport], ['NOT_ALLOWED']]);
      },
    );

    test('heartbeats keep the stream open beyond proxy_read_timeout', async () => {
      const { upstream, tick } = await startTicks(250);
      const url = await startNginx(upstream, site(`${DEFAULT_LINES[transport]} proxy_read_timeout 2s;`));
      const stream = openStream(transport, `${url}/graphql`, null, TICKS);
      await stream.until(({ ticks }) => ticks.n === 0);
      await stream.heartbeats(12);
      tick();
      await stream.until(({ ticks }) => ticks.n === 1);
    });

    test('without heartbeats nginx closes the stream after proxy_read_timeout', async () => {
      const { upstream } = await startTicks(60_000);
      const url = await startNginx(upstream, site(`${DEFAULT_LINES[transport]} proxy_read_timeout 2s;`));
      const stream = openStream(transport, `${url}/graphql`, null, TICKS);
      await stream.until(({ ticks }) => ticks.n === 0);
      expect((await stream.ended).close).toBe(transport === 'SSE' ? 'cut' : 1006);
    });
  });

  test('the client of graphql-sse receives each event with the default settings of nginx', async () => {
    const { upstream, tick } = await startTicks(12_000);
    const client = createClient({ url: `${await startNginx(upstream, site())}/graphql`, retryAttempts: 0 });
    onTestFinished(() => client.dispose());
    const seen: unknown[] = [];
    for await (const { data } of client.iterate<{ ticks: Tick }>(TICKS)) {
      seen.push(data?.ticks.n);
      if (seen.length === 3) break;
      tick();
    }
    expect(seen).toEqual([0, 1, 2]);
  });

  test('with the documented settings, only pages of the same origin may open WebSockets', async () => {
    const service = await startTestService();
    const url = await startNginx(service.url, documented);
    const open = (origin: string) =>
      new Promise((resolve) => {
        const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', { origin });
        socket.once('open', () => {
          socket.terminate();
          resolve('open');
        });
        socket.once('unexpected-response', (_req, res) => {
          resolve(res.statusCode);
          socket.terminate();
        });
        socket.on('error', () => {});
      });
    expect(await open(url)).toBe('open');
    expect(await open('https://evil.example')).toBe(403);
  });
});
