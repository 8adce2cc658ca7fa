import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { BUILD } from '../../../src/platform/build.ts';
import { bearer, startTestService } from '../../support/service.ts';
import { send } from './requests.ts';

const TOKEN = 'a token for scrapers';
const FORWARDED = { 'x-forwarded-for': '203.0.113.9' };

const read = async (port: number, headers: Record<string, string> = {}) =>
  (await send(port, '/metrics', { headers })).status;

test('without settings only callers on this machine and root administrators read the metrics', async () => {
  const { port, root, person } = await startTestService();
  const { token } = await person('ADMIN');
  expect(await read(port)).toBe(200);
  expect(await read(port, FORWARDED)).toBe(401);
  expect(await read(port, { ...FORWARDED, ...bearer(token) })).toBe(401);
  expect(await read(port, { ...FORWARDED, ...bearer('brg_session_unknown') })).toBe(401);
  expect(await read(port, { ...FORWARDED, ...bearer(root) })).toBe(200);
});

test.each([{ TRUST_PROXY: 'on' }, { PUBLIC_URL: 'https://brokers.example.com' }])(
  'behind a proxy (%o) no caller reads the metrics without credentials, although nginx adds no header by default',
  async (env) => {
    const { port, root } = await startTestService({ env });
    expect(await read(port)).toBe(401);
    expect(await read(port, bearer(root))).toBe(200);
    const withToken = await startTestService({ env: { ...env, METRICS_TOKEN: TOKEN } });
    expect([await read(withToken.port), await read(withToken.port, bearer(TOKEN))]).toEqual([401, 200]);
  },
);

test('METRICS_TOKEN is required from every caller but root administrators', async () => {
  const { port, root, person } = await startTestService({ env: { METRICS_TOKEN: TOKEN } });
  const { token } = await person('ADMIN');
  expect(await read(port)).toBe(401);
  expect(await read(port, bearer(`${TOKEN}x`))).toBe(401);
  expect(await read(port, bearer(token))).toBe(401);
  expect(await read(port, bearer(TOKEN))).toBe(200);
  expect(await read(port, bearer(root))).toBe(200);
});

test('METRICS_HOST serves the metrics on a listener of their own, and the main port no longer does', async () => {
  const { port, metricsPort } = await startTestService({ env: { METRICS_HOST: '127.0.0.1:0' } });
  expect(await read(port)).toBe(404);
  const { status, text } = await send(metricsPort ?? 0, '/metrics', { headers: FORWARDED });
  expect(status).toBe(200);
  expect(text).toContain('brokergraph_brokers{connected="true"}');
  const build = `version="${BUILD.version}",commit="unknown",date="unknown"`;
  expect(text).toContain(`brokergraph_build_info{${build}} 1\n`);
  expect((await send(metricsPort ?? 0, '/graphql?query={__typename}')).status).toBe(404);
  expect(await read(metricsPort ?? 0, { host: 'rebound.example.com' })).toBe(421);
});

test('METRICS_HOST with METRICS_TOKEN requires the token', async () => {
  const env = { METRICS_HOST: '127.0.0.1:0', METRICS_TOKEN: TOKEN };
  const { metricsPort } = await startTestService({ env });
  expect(await read(metricsPort ?? 0)).toBe(401);
  expect(await read(metricsPort ?? 0, bearer(TOKEN))).toBe(200);
});

test('a start fails if the port of METRICS_HOST is in use', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  await expect(startTestService({ env: { METRICS_HOST: `127.0.0.1:${port}` } })).rejects.toMatchObject({
    code: 'EADDRINUSE',
  });
});
