import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { connect, createServer, type TlsOptions } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { describeOidcError } from '../../../src/domains/sign-in/oidc/oidc-errors.ts';
import { keepCertificate, tlsProblem } from '../../../src/platform/network/tls-failure.ts';
import { createAuthority, createSelfSigned, type TestCertificate } from '../../support/certificates.ts';
import { openLink, reached } from '../../support/link.ts';

const DAY_MS = 86_400_000;
const SERVER = { name: 'the server', ca: '"ca"' };
const root = createAuthority({ name: 'Root' });
const middle = root.issue({ name: 'Middle', isAuthority: true, altNames: [] });
const leaf = middle.issue();
const dayOf = (date: Date) => date.toISOString().slice(0, 10);

async function listening(options: TlsOptions): Promise<number> {
  const server = createServer(options, (socket) => socket.on('error', () => {}).resume());
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Why a client with these options does not connect; `null` if it does, and the server accepts it. */
async function problemOf(server: TlsOptions, client: object = {}): Promise<string | null> {
  const socket = connect({ host: '127.0.0.1', port: await listening(server), ...client });
  onTestFinished(() => void socket.destroy());
  keepCertificate(socket);
  const error = await new Promise<Error | null>((resolve) => {
    socket.on('error', resolve);
    // With TLS 1.3, the server refuses the certificate of a client after the handshake.
    socket.once('secureConnect', () => (server.requestCert ? socket.resume() : resolve(null)));
  });
  return error && (tlsProblem(error, SERVER) ?? `unknown: ${error.message}`);
}

const pairOf = ({ cert, key }: TestCertificate) => ({ cert, key });

test('what is missing is named: the CA, the intermediate certificate, the name, the date', async () => {
  const unknown = 'The certificate of the server is signed by a CA that is not known';
  expect(await problemOf(pairOf(leaf), { ca: root.cert })).toBeNull();
  expect(await problemOf(pairOf(leaf), { ca: middle.leaf, allowPartialTrustChain: true })).toBeNull();
  expect(await problemOf(pairOf(leaf))).toBe(`${unknown}, "Root": add the certificate of this CA as "ca"`);
  expect(await problemOf({ cert: leaf.leaf + middle.leaf + root.leaf, key: leaf.key })).toBe(
    `${unknown}, "Root": add the certificate of this CA as "ca"`,
  );
  expect(await problemOf({ cert: leaf.leaf, key: leaf.key }, { ca: root.cert })).toBe(
    `${unknown}, "Middle": add the certificate of this CA as "ca", or configure the server to send it if it is an ` +
      'intermediate certificate of a known CA',
  );
  expect(await problemOf(pairOf(createSelfSigned()))).toBe(
    'The certificate of the server is not signed by a CA that is known, but by itself: add it as "ca"',
  );
  const ca = { ca: root.cert };
  const elsewhere = root.issue({ altNames: ['DNS:elsewhere.example', 'IP:10.0.0.1'] });
  expect(await problemOf(pairOf(elsewhere), ca)).toBe(
    'The certificate of the server is for another host name than 127.0.0.1: it has elsewhere.example, 10.0.0.1',
  );
  expect(await problemOf(pairOf(root.issue({ altNames: [] })), ca)).toMatch(/127\.0\.0\.1: it has no name/);
  const [from, to] = [new Date(Date.now() - 9 * DAY_MS), new Date(Date.now() - DAY_MS)];
  expect(await problemOf(pairOf(root.issue({ from, to })), ca)).toBe(
    `The certificate of the server has expired on ${dayOf(to)}: it must be renewed`,
  );
  const old = root.issue({ name: 'Old', isAuthority: true, altNames: [], from, to });
  expect(await problemOf(pairOf(old.issue()), ca)).toBe(
    `The certificate of "Old", on which that of the server depends, has expired on ${dayOf(to)}: it must be renewed`,
  );
  const later = new Date(Date.now() + DAY_MS);
  expect(await problemOf(pairOf(root.issue({ from: later })), ca)).toBe(
    `The certificate of the server is not valid until ${dayOf(later)}`,
  );
});

test('names of a hostile certificate are bounded, and contain no control characters', async () => {
  const altNames = Array.from({ length: 500 }, (_, index) => `DNS:${'x'.repeat(60)}${index}.example`);
  const text = await problemOf(pairOf(root.issue({ altNames })), { ca: root.cert });
  expect(text).toMatch(/ and 490 more$/);
  expect(text?.length).toBeLessThan(2_000);
});

test('a client certificate that is missing, another version, and a port without TLS', async () => {
  const server = { ...pairOf(leaf), ca: root.cert, requestCert: true };
  const ca = { ca: root.cert };
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    expect(await problemOf({ ...server, maxVersion }, ca)).toMatch(/client certificate/);
  }
  const versions = { minVersion: 'TLSv1.3', maxVersion: 'TLSv1.3' } as const;
  expect(await problemOf({ ...pairOf(leaf), ...versions }, { ...ca, maxVersion: 'TLSv1.2' })).toMatch(
    /versions of TLS/,
  );
  const plain = createTcpServer((socket) => socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  plain.listen(0, '127.0.0.1');
  onTestFinished(() => void plain.close());
  await once(plain, 'listening');
  const socket = connect((plain.address() as AddressInfo).port, '127.0.0.1');
  keepCertificate(socket);
  const [error] = await once(socket, 'error');
  expect(tlsProblem(error, SERVER)).toBe('The port of the server does not speak TLS');
  expect(tlsProblem(new Error('other'), SERVER)).toBeNull();
});

test('a server is described alike over TCP, WebSocket and HTTP, and an intermediate certificate is sufficient', async () => {
  const https = createHttpsServer(pairOf(leaf));
  new WebSocketServer({ server: https }).on('connection', (socket: WebSocket) => socket.on('error', () => {}));
  https.on('tlsClientError', () => {});
  https.listen(0, '127.0.0.1');
  await once(https, 'listening');
  onTestFinished(() => {
    https.closeAllConnections();
    https.close();
  });
  const ports = { mqtts: await listening(pairOf(leaf)), wss: (https.address() as AddressInfo).port };
  for (const [scheme, port] of Object.entries(ports)) {
    const url = `${scheme}://127.0.0.1:${port}`;
    const { lastError } = await reached(openLink({ url }), 'UNREACHABLE');
    expect(lastError).toBe(
      'The certificate of the broker is signed by a CA that is not known, "Root": add the certificate of this CA as CA certificate',
    );
    if (scheme === 'wss') {
      const error = await fetch(`https://127.0.0.1:${port}`).catch((reason: unknown) => reason);
      expect(describeOidcError(error)).toMatch(/^The certificate of the provider is signed by a CA that is not known/);
    }
    // It speaks no MQTT.
    const trusting = openLink({ url, ca: middle.leaf, timeoutMs: 300 });
    expect((await reached(trusting, 'UNREACHABLE')).lastError).not.toContain('certificate');
  }
});
