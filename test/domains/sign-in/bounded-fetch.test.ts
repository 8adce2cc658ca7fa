import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { boundedFetch } from '../../../src/domains/sign-in/oidc/bounded-fetch.ts';

const CHUNKS = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
const WHOLE = 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n';
const names = (count: number) => Array.from({ length: count }, (_, at) => `"name-${at}":0`);

/** Fetches a response that consists of these texts. */
async function fetched(...texts: readonly string[]): Promise<string> {
  const server = createServer().on('request', ({ socket }) => {
    socket.on('error', () => {});
    for (const text of texts) socket.write(text);
    socket.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return (await boundedFetch(url)(url, { body: null, headers: {}, method: 'GET', redirect: 'manual' })).text();
}

test.each([
  ['bytes', [WHOLE, 'x'.repeat(1_000_001)]],
  ['new names', [WHOLE, `{${names(30_000)}}`]],
])('a response of a provider with too many %s is refused', async (_what, texts) => {
  await expect(fetched(...texts)).rejects.toThrow('more than');
});

test('a response of a provider in a hundred small chunks is read', async () => {
  expect(await fetched(CHUNKS, '1\r\nx\r\n'.repeat(100), '0\r\n\r\n')).toBe('x'.repeat(100));
});

test('a response of a provider in many small chunks, or after many interim responses, is refused', async () => {
  await expect(fetched(CHUNKS, '1\r\nx\r\n'.repeat(1_000), '0\r\n\r\n')).rejects.toThrow('terminated');
  await expect(fetched('HTTP/1.1 100 Continue\r\n\r\n'.repeat(20), WHOLE)).rejects.toMatchObject({
    message: 'fetch failed',
    cause: { message: 'more than 10 interim responses (1xx)' },
  });
});
