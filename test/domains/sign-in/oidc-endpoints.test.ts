import { once } from 'node:events';
import { createServer } from 'node:http';
import { hostname, networkInterfaces } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { boundedFetch } from '../../../src/domains/sign-in/oidc/bounded-fetch.ts';

test('the metadata of a provider elsewhere lead to no internal address, those of one on this machine do', async () => {
  const paths: (string | undefined)[] = [];
  const server = createServer(({ url }, response) => {
    paths.push(url);
    response.end('{}');
  }).listen(0, '::');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const options = { method: 'GET', body: undefined, headers: {}, redirect: 'manual' } as const;
  const own = Object.values(networkInterfaces()).flatMap((found = []) => found.map(({ address }) => address));
  const hosts = own.map((address) => (address.includes(':') ? `[${address}]` : address));
  for (const host of [...hosts, hostname(), 'localhost', '127.1', '169.254.169.254']) {
    const url = `http://${host}:${port}/jwks`;
    await expect(boundedFetch('https://sso.example')(url, options)).rejects.toThrow('internal');
  }
  expect(paths).toEqual([]);
  const response = await boundedFetch('http://127.0.0.1')(`http://localhost:${port}/jwks`, options);
  expect([await response.text(), paths]).toEqual(['{}', ['/jwks']]);
});
