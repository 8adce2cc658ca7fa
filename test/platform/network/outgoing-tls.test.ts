import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type Server, type TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { PostgresqlSink } from '../../../src/data-plane/bridges/postgresql/postgresql-sink.ts';
import { WebhookRequests } from '../../../src/data-plane/bridges/webhook/webhook-requests.ts';
import { EmailSender } from '../../../src/domains/notifications/senders/email-sender.ts';
import { connectedTo } from '../../../src/domains/sign-in/ldap/ldap-connection.ts';
import { boundedFetch } from '../../../src/domains/sign-in/oidc/bounded-fetch.ts';
import { openStream } from '../../../src/protocol/mqtt/open-stream.ts';
import { createSelfSigned } from '../../support/certificates.ts';

/** Offers DHE only, and lets OpenSSL choose the group. `upgrade`: what is sent before TLS. */
async function startDheServer(upgrade: string | null): Promise<{ readonly port: number; readonly tls: Server }> {
  const { cert, key } = createSelfSigned({ key: 'rsa-2048' });
  const ciphers = 'DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-SHA';
  const tls = createTlsServer({ cert, key, ciphers, dhparam: 'auto', maxVersion: 'TLSv1.2' });
  const server = createServer((socket: Socket) => {
    socket.on('error', () => undefined);
    if (upgrade === null) tls.emit('connection', socket);
    else
      socket.once('data', () => {
        socket.write(upgrade);
        tls.emit('connection', socket);
      });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, tls };
}

const host = '127.0.0.1';
const broker = (protocol: 'mqtts' | 'wss') => (port: number) =>
  openStream({ protocol, hostname: host, port, rejectUnauthorized: false }, 1_000, () => undefined).on(
    'error',
    () => undefined,
  );
const BODY = { method: 'GET', headers: {}, body: null, redirect: 'manual' } as const;
const MESSAGE = { id: 'm', content: { type: 'problem.digest', notices: [] } };
const DATABASE = { mappings: [], host, database: 'd', username: 'u', tls: true, verifyCa: false, name: 'c' };

test.each<[string, string | null, (port: number) => unknown]>([
  ['a broker', null, broker('mqtts')],
  ['a broker over WebSocket', null, broker('wss')],
  [
    'a webhook',
    null,
    (port) =>
      new WebhookRequests(`https://${host}:${port}`, { verifyCa: false }, undefined).post(
        Buffer.from('{}'),
        {},
        AbortSignal.timeout(60_000),
      ),
  ],
  [
    'a database of a bridge',
    'S',
    (port) => new PostgresqlSink({ ...DATABASE, port } as never, { allowedHosts: [] }).open(),
  ],
  [
    'an LDAP directory',
    null,
    (port) => connectedTo({ url: `ldaps://${host}:${port}`, startTls: false, ca: null }, (client) => client.bind('a')),
  ],
  ['an OpenID provider', null, (port) => boundedFetch(`https://${host}`)(`https://${host}:${port}/`, BODY)],
  [
    'an SMTP server',
    null,
    (port) =>
      new EmailSender({ smtpUrl: `smtps://${host}:${port}`, mailFrom: 'a@b.example' }).send(
        MESSAGE as never,
        {
          to: ['c@d.example'],
        } as never,
      ),
  ],
])('%s cannot choose a Diffie-Hellman group', async (_server, upgrade, connect) => {
  const { port, tls } = await startDheServer(upgrade);
  const shaken = once(tls, 'secureConnection').then(([socket]) => (socket as TLSSocket).getCipher().name);
  const refused = once(tls, 'tlsClientError').then(([{ code }]) => code);
  shaken.catch(() => undefined);
  void Promise.resolve(connect(port)).catch(() => undefined);
  expect(await Promise.race([shaken, refused])).toBe('ERR_SSL_NO_SHARED_CIPHER');
});
