import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { FOLLOWED_LOG, startMosquitto } from '../../../support/mosquitto.ts';
import { startTestService } from '../../../support/service.ts';
import { addBroker, worldOf } from '../../streams/stream-world.ts';

const LIST = `query ($b: ID!) { broker(id: $b) { bridges {
  key name isActive provider isConfigurable origin schema config connections { name isConnected state since }
} } }`;
const FOLLOW = `subscription ($b: ID!, $id: ID!) { bridgeStatus(brokerId: $b, bridgeId: $id) {
  kind sequence isConnected status connections { name isConnected state since }
} }`;

const bridgeLines = (name: string, port: number, more: readonly string[] = []) => [
  `connection ${name}`,
  `address 127.0.0.1:${port}`,
  'topic to/# out 1',
  'restart_timeout 1 1',
  ...more,
];

test('bridges of a Mosquitto show in the lists of both brokers, and their state changes live, but nothing of them can be configured', async () => {
  const remote = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const local = await startMosquitto({
    logTypes: FOLLOWED_LOG,
    lines: [
      ...bridgeLines('uplink', remote.port),
      ...bridgeLines('named', remote.port, ['remote_clientid plant/one', 'notifications_local_only true']),
    ],
  });
  const service = await startTestService();
  const [here, there] = await Promise.all(
    [local, remote].map(async ({ url }) => worldOf(service, await addBroker(service, url), url, {})),
  );
  if (here === undefined || there === undefined) throw new Error('no world');
  const uplink = `connection-${hostname()}.uplink`;

  const feed = here.follow(FOLLOW, { id: uplink });
  const connected = { connections: [{ isConnected: true, state: 'CONNECTED' }] };
  expect((await feed.until(({ bridgeStatus }) => bridgeStatus.connections[0]?.isConnected)).bridgeStatus).toMatchObject(
    {
      isConnected: true,
      ...connected,
    },
  );
  const own = (await here.graph(LIST)).broker.bridges.slice(3);
  expect(own.map(({ key }: { key: string }) => key).sort()).toEqual([uplink, 'connection-plant/one'].sort());
  for (const bridge of own) {
    expect(bridge).toMatchObject({
      isActive: true,
      provider: 'BROKER',
      isConfigurable: false,
      schema: null,
      config: null,
    });
  }
  expect((await here.rest('GET', '/bridges')).body).toContainEqual({ id: 'connection-plant/one', isActive: true });
  expect((await there.graph(LIST)).broker.bridges.slice(3)).toMatchObject([{ key: uplink, ...connected }]);

  await remote.stop();
  const lost = (await feed.until(({ bridgeStatus }) => !bridgeStatus.connections[0].isConnected)).bridgeStatus;
  expect(lost).toMatchObject({ kind: 'CHANGE', isConnected: true, connections: [{ state: 'UNREACHABLE' }] });
  expect(Date.parse(lost.connections[0].since)).toBeGreaterThan(Date.now() - 60_000);
  await remote.start();
  const back = await feed.until(({ bridgeStatus }) => bridgeStatus.connections[0].isConnected);
  expect(back.bridgeStatus.sequence).toBeGreaterThan(lost.sequence);
  // The log has named it meanwhile.
  expect(back.bridgeStatus.status).toMatchObject([
    { connectionName: 'uplink', origin: 'OWN', address: `127.0.0.1:${remote.port}` },
  ]);
  expect((await here.graph(LIST)).broker.bridges).toContainEqual(
    expect.objectContaining({ name: 'uplink', origin: 'OWN' }),
  );

  const path = `/bridges/${encodeURIComponent('connection-plant/one')}`;
  const status = await here.rest('GET', `${path}/status`);
  expect([status.status, status.body]).toMatchObject([200, [{ remoteClientId: 'plant/one' }]]);
  for (const answer of [await here.rest('GET', `${path}/config`), await here.rest('PUT', `${path}/config`, {})]) {
    expect([answer.status, answer.body.code]).toEqual([405, 'NOT_SUPPORTED_BY_BROKER']);
    expect(answer.body.message).toContain('mosquitto.conf');
  }
});

test('a bridge that connects from another broker has the origin OTHER', async () => {
  const here = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const service = await startTestService();
  const world = worldOf(service, await addBroker(service, here.url), here.url, {});
  expect((await world.graph(LIST)).broker.bridges).toHaveLength(3);
  const first = await startMosquitto({ lines: bridgeLines('in', here.port, ['remote_clientid inward']) });
  const listed = async () => (await world.graph(LIST)).broker.bridges.slice(3);
  while ((await listed()).length === 0);
  // The first line came before the state: the next one is read.
  const feed = world.follow(FOLLOW, { id: 'connection-inward' });
  await first.stop();
  await feed.until(({ bridgeStatus }) => bridgeStatus.connections[0]?.isConnected === false);
  await first.start();
  const told = await feed.until(
    ({ bridgeStatus }) => bridgeStatus.status[0].origin === 'OTHER' && bridgeStatus.connections[0].isConnected,
  );
  expect(told.bridgeStatus.status[0]).toMatchObject({
    connectionName: 'inward',
    address: expect.stringContaining('127.0.0.1'),
  });
});
