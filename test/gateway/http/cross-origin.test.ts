import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';

const PAGE = 'https://app.example.com';

test('pages of allowed origins may use REST: preflight, responses and errors', async () => {
  const { url, rest, projectId } = await startTestService({ env: { CORS_ORIGINS: `${PAGE},https://b.example` } });
  const path = `/api/projects/${projectId}/brokers`;
  const preflight = await fetch(`${url}${path}`, {
    method: 'OPTIONS',
    headers: {
      origin: PAGE,
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'authorization',
    },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-origin')).toBe(PAGE);
  expect(preflight.headers.get('access-control-allow-methods')).toContain('PUT');
  expect(preflight.headers.get('access-control-allow-headers')).toContain('Authorization');

  const list = await rest('GET', path, undefined, undefined, { origin: PAGE });
  expect(list.status).toBe(200);
  expect(list.headers.get('access-control-allow-origin')).toBe(PAGE);
  expect(list.headers.get('access-control-expose-headers')).toContain('X-Total-Count');
  expect(list.headers.get('x-total-count')).toBe('0');
  const refused = await rest('GET', path, null, undefined, { origin: PAGE });
  expect(refused.status).toBe(401);
  expect(refused.headers.get('access-control-allow-origin')).toBe(PAGE);
});

test('pages of other origins get no CORS header fields', async () => {
  const { rest, url } = await startTestService({ env: { CORS_ORIGINS: PAGE } });
  const answer = await rest('GET', '/api/projects', undefined, undefined, { origin: 'https://evil.example' });
  expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  expect(answer.headers.get('vary')).toContain('Origin');
  const preflight = await fetch(`${url}/api/projects`, {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.example', 'access-control-request-method': 'GET' },
  });
  expect(preflight.headers.get('access-control-allow-origin')).toBeNull();
});

test('pages of allowed origins load the script of the elements, and ask each time whether it has changed', async () => {
  const { url } = await startTestService({ env: { CORS_ORIGINS: PAGE } });
  const load = (headers: Record<string, string>) => fetch(`${url}/embed.js`, { headers });
  const script = await load({ origin: PAGE });
  expect([script.status, script.headers.get('access-control-allow-origin')]).toEqual([200, PAGE]);
  expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  expect(script.headers.get('cache-control')).toBe('no-cache');
  expect(script.headers.get('vary')).toBe('Accept-Encoding, Origin');
  expect(await script.text()).toContain('brokergraph-clients');
  const german = await fetch(`${url}/embed/de.js`, { headers: { origin: PAGE } });
  expect([german.status, german.headers.get('access-control-allow-origin')]).toEqual([200, PAGE]);
  const again = await load({ origin: PAGE, 'if-none-match': String(script.headers.get('etag')) });
  expect([again.status, again.headers.get('access-control-allow-origin')]).toEqual([304, PAGE]);
  const other = await load({ origin: 'https://evil.example' });
  expect(other.headers.get('access-control-allow-origin')).toBeNull();
});
