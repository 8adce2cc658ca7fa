import { expect, onTestFinished, test } from 'vitest';
import { BrokerLink } from '../../../src/protocol/mqtt/broker-link.ts';
import { LeasedLink } from '../../../src/protocol/mqtt/leased-link.ts';
import { freePort } from '../../support/free-port.ts';
import { reached } from '../../support/link.ts';
import { startMosquitto } from '../../support/mosquitto.ts';

function leasedLink(url: string, lingerMs: number): LeasedLink {
  const link = new LeasedLink({ id: 'test', clientId: 'observer', url, timeoutMs: 30_000 }, { lingerMs });
  onTestFinished(() => link.close());
  return link;
}

test('the link is open while it has leases, and a little longer', async () => {
  const { url } = await startMosquitto();
  const link = leasedLink(url, 0);
  expect(link.isOpen).toBe(false);
  const first = link.acquire();
  const second = link.acquire();
  expect(second.session).toBe(first.session);
  await reached(first.session, 'CONNECTED');
  first.release();
  first.release();
  expect(first.session.status.state).toBe('CONNECTED');
  const closed = reached(first.session, 'CLOSED');
  second.release();
  // A new lease before the end of the pause: the connection stays open.
  const third = link.acquire();
  expect(third.session).toBe(first.session);
  third.release();
  await closed;
  expect(link.isOpen).toBe(false);

  const later = link.acquire();
  expect(later.session).not.toBe(first.session);
  expect(later.session.clientId).toBe('observer');
  await reached(later.session, 'CONNECTED');
});

test('a connection that failed without leases is replaced', async () => {
  const port = await freePort();
  const link = leasedLink(`mqtt://127.0.0.1:${port}`, 60_000);
  const failed = link.acquire();
  await reached(failed.session, 'UNREACHABLE');
  expect(link.acquire().session).toBe(failed.session);
  await link.close();

  const lost = link.acquire();
  await reached(lost.session, 'UNREACHABLE');
  lost.release();
  expect(link.acquire().session.status.state).toBe('CONNECTING');
});

test('a filter that is refused after a reconnect is reported to onRefused', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const admin = await broker.client();
  const command = (commands: object[]) =>
    admin.publishAsync('$CONTROL/dynamic-security/v1', JSON.stringify({ commands }), { qos: 1 });
  const acls = [{ acltype: 'subscribePattern', topic: 'a/#', allow: true }];
  await command([
    { command: 'createRole', rolename: 'reader', acls },
    { command: 'createClient', username: 'u', password: 'p', roles: [{ rolename: 'reader' }] },
  ]);
  const link = new BrokerLink({ id: 'test', url: broker.url, timeoutMs: 30_000, username: 'u', password: 'p' });
  onTestFinished(() => link.close());
  link.open();
  await reached(link, 'CONNECTED');
  const refused = new Promise((resolve) => {
    void link.subscribe('a/b', () => undefined, { onRefused: resolve });
  });
  await expect(link.subscribe('b', () => undefined)).rejects.toMatchObject({ code: 'NOT_ALLOWED' });
  // The broker ends the connection of an account that loses a role.
  await command([{ command: 'removeClientRole', username: 'u', rolename: 'reader' }]);
  expect(await refused).toMatchObject({ code: 'NOT_ALLOWED' });
});
