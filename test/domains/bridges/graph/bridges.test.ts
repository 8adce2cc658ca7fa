import { pino } from 'pino';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../support/database.ts';
import { startClient, startMosquitto } from '../../../support/mosquitto.ts';
import { type RestAnswer, startTestService } from '../../../support/service.ts';
import { streamWorld } from '../../streams/stream-world.ts';

const PASSWORD = 'a secret of the bridge';
const config = (url: string, more: object = {}) => ({
  connections: [
    {
      name: 'hq',
      url,
      username: 'admin',
      password: PASSWORD,
      topics: [{ pattern: 'plant/#', direction: 'out', qos: 1 }],
      ...more,
    },
  ],
});
/** On a busy machine the first attempt to connect to a broker may take longer than one question waits. */
async function reached(question: () => Promise<RestAnswer>): Promise<RestAnswer> {
  let answer = await question();
  while (answer.status === 503) answer = await question();
  return answer;
}

const LIST = `query ($b: ID!) { broker(id: $b) { bridges {
  key name isActive provider isConfigurable schema config status connections { name isConnected state }
} } }`;
const FOLLOW = `subscription ($b: ID!, $after: SafeInt) { bridgeStatus(brokerId: $b, bridgeId: "mqtt-bridge", after: $after) {
  kind sequence missed isConnected status
  connections { name isConnected state since error queuedMessages queuedBytes received delivered dropped returned rejected lastRejection { at reason } loop { since topic reason perSecond isStopped } }
} }`;

test('a bridge of this service is configured, passes messages and is followed live, and its secrets never come out', async () => {
  const world = await streamWorld('the embedded broker');
  const remote = await startMosquitto({ access: 'anonymous' });
  await reached(() => world.rest('GET', '/bridges'));
  const { bridges } = (await world.graph(LIST)).broker;
  expect(bridges).toMatchObject(
    ['mqtt-bridge', 'postgresql-bridge', 'webhook-bridge'].map((key) => ({
      key,
      isActive: false,
      provider: 'GATEWAY',
      isConfigurable: true,
      schema: { type: 'object' },
      config: { connections: [] },
      status: [],
      connections: [],
    })),
  );
  expect((await world.rest('GET', '/bridges')).body).toEqual(
    bridges.map(({ key }: { key: string }) => ({ id: key, isActive: false })),
  );

  const feed = world.follow(FOLLOW);
  const start = (await feed.until(() => true)).bridgeStatus;
  expect(start).toMatchObject({ kind: 'SNAPSHOT', isConnected: true, connections: [], missed: null });
  const { bridge } = await world.change(
    'updateBridgeConfig',
    { bridgeKey: 'mqtt-bridge', config: config(remote.url) },
    'bridge { key isActive config } broker { id }',
  );
  expect(bridge).toEqual({ key: 'mqtt-bridge', isActive: true, config: config(remote.url, { password: '***' }) });
  const up = (await feed.until(({ bridgeStatus }) => bridgeStatus.connections[0]?.state === 'CONNECTED')).bridgeStatus;
  expect(up).toMatchObject({
    kind: 'CHANGE',
    connections: [{ name: 'hq', isConnected: true, dropped: 0, returned: 0, loop: null }],
  });
  expect(up.sequence).toBeGreaterThan(start.sequence);

  const reader = await startClient(remote.url);
  await reader.subscribeAsync('plant/#', { qos: 1 });
  const heard = new Promise<string>((resolve) => reader.on('message', (topic) => resolve(topic)));
  await (await world.client()).publishAsync('plant/line1', 'x', { qos: 1 });
  expect(await heard).toBe('plant/line1');
  await feed.until(({ bridgeStatus }) => bridgeStatus.connections[0].delivered >= 1);

  // What repeats like a message in a loop is reported, and still forwarded.
  const device = await world.client();
  for (let count = 0; count < 60; count += 1) await device.publishAsync('plant/line1', 'x', { qos: 1 });
  const looping = (await feed.until(({ bridgeStatus }) => bridgeStatus.connections[0].loop !== null)).bridgeStatus;
  expect(looping.connections[0]).toMatchObject({
    state: 'CONNECTED',
    error: null,
    loop: { topic: 'plant/line1', isStopped: false, reason: expect.stringMatching(/^"plant\/line1": equal messages/) },
  });
  await feed.until(({ bridgeStatus: { connections } }) => connections[0].returned >= 10);
  await feed.until(({ bridgeStatus: { connections } }) => connections[0].delivered >= 61);

  // The same again, as it was read: nothing restarts, and the secret stays.
  const read = await world.rest('GET', '/bridges/mqtt-bridge/config');
  expect([read.status, read.body]).toEqual([200, config(remote.url, { password: '***' })]);
  expect((await world.rest('PUT', '/bridges/mqtt-bridge/config', read.body)).status).toBe(204);
  const since = async () => (await world.rest('GET', '/bridges/mqtt-bridge/status')).body[0].since;
  expect(await since()).toBe(Date.parse(up.connections[0].since));

  // Where it is sent to changes: the secret must be given again.
  const moved = await world.rest('PUT', '/bridges/mqtt-bridge/config', config('mqtt://127.0.0.2', { password: '***' }));
  expect([moved.status, moved.body.code, moved.body.info.issues]).toEqual([
    400,
    'INVALID',
    [{ path: '/connections/0/password', reason: expect.stringContaining('given again') }],
  ]);

  await remote.stop();
  const down = (await feed.until(({ bridgeStatus }) => bridgeStatus.connections[0].state === 'UNREACHABLE'))
    .bridgeStatus;
  expect(down.connections[0]).toMatchObject({ isConnected: false, error: expect.any(String) });
  const resumed = world.follow(FOLLOW, { after: up.sequence });
  expect((await resumed.until(() => true)).bridgeStatus.kind).toBe('RESUMED');
  const off = await world.rest('PUT', '/bridges/mqtt-bridge/config', { connections: [] });
  expect(off.status).toBe(204);
  const none = (await feed.until(({ bridgeStatus }) => bridgeStatus.connections.length === 0)).bridgeStatus;
  const kept = JSON.stringify(await world.service.storage.db.bridgeConfig.findMany());
  expect(JSON.stringify([bridges, start, bridge, up, read, moved, down, none, kept])).not.toContain(PASSWORD);
});

test('refused credentials are UNAUTHORIZED in the graph, and UNAUTHORISED in the API of bridges and in REST', async () => {
  const world = await streamWorld('the embedded broker');
  const remote = await startMosquitto({ access: 'dynsec' });
  await reached(() => world.rest('GET', '/bridges'));
  const feed = world.follow(FOLLOW);
  await world.rest('PUT', '/bridges/mqtt-bridge/config', config(remote.url, { password: 'wrong' }));
  const { bridgeStatus } = await feed.until(({ bridgeStatus: { connections } }) => connections[0]?.error);
  expect(bridgeStatus.connections).toMatchObject([{ name: 'hq', isConnected: false, state: 'UNAUTHORIZED' }]);
  const { body } = await world.rest('GET', '/bridges/mqtt-bridge/status');
  expect(body).toMatchObject([{ connectionName: 'hq', isConnected: false, state: 'UNAUTHORISED' }]);
});

test('a configuration that breaks the schema or a rule is refused with each place, and nothing of it is kept', async () => {
  const world = await streamWorld('the embedded broker');
  await reached(() => world.rest('GET', '/bridges'));
  const put = (body: unknown, id = 'mqtt-bridge') => world.rest('PUT', `/bridges/${id}/config`, body);
  const issues = async (body: unknown, id?: string) => {
    const answer = await put(body, id);
    expect([answer.status, answer.body.code], JSON.stringify(answer.body)).toEqual([400, 'INVALID']);
    expect(JSON.stringify(answer.body)).not.toContain(PASSWORD);
    return answer.body.info.issues.map(({ path }: { path: string }) => path);
  };
  expect(await issues({})).toEqual(['/connections']);
  expect(await issues(config('mqtt://x', { passwrod: 1, keepalive: 'long' }))).toEqual(
    expect.arrayContaining(['/connections/0/passwrod', '/connections/0/keepalive']),
  );
  expect(await issues(config('ftp://x'))).toEqual(['/connections/0/url']);
  expect(await issues(config('mqtt://x', { password: '***' }))).toEqual(['/connections/0/password']);
  const twice = { connections: [...config('mqtt://x').connections, ...config('mqtt://x').connections] };
  expect(await issues(twice)).toContain('/connections/1/name');
  expect(await issues({ connections: [{ name: 'w', url: 'x' }] }, 'webhook-bridge')).toContain('/connections/0/secret');
  expect(await issues(['list'])).toEqual(['/']);
  const { extensions } = await world.unchanged('updateBridgeConfig', { bridgeKey: 'mqtt-bridge', config: 'text' });
  expect(extensions).toMatchObject({ code: 'INVALID', info: { issues: [{ path: '/' }] } });
  expect((await world.rest('GET', '/bridges/mqtt-bridge/config')).body).toEqual({ connections: [] });
  expect(await world.service.storage.db.bridgeConfig.count()).toBe(0);

  const missing = await put({ connections: [] }, 'kafka-bridge');
  expect([missing.status, missing.body.code]).toEqual([404, 'NOT_FOUND']);
  const follow = world.follow(
    'subscription ($b: ID!) { bridgeStatus(brokerId: $b, bridgeId: "kafka-bridge") { kind } }',
  );
  await expect(follow.until(() => true)).rejects.toMatchObject([{ extensions: { code: 'NOT_FOUND' } }]);
});

test('a configuration that the operator forbids later no longer runs, is reported as FAILED, and can be corrected', async () => {
  const dataDir = temporaryFolder();
  const logged: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line) => void logged.push(line) });
  const first = await startTestService({ dataDir, log, embeddedBroker: true });
  const { id } = await first.storage.db.broker.findFirstOrThrow();
  const path = `/api/projects/${first.projectId}/brokers/${id}/bridges/mqtt-bridge`;
  const wanted = config('mqtt://127.0.0.1:1');
  await reached(() => first.rest('GET', `${path}/config`));
  expect((await first.rest('PUT', `${path}/config`, first.root, wanted)).status).toBe(204);
  await first.close();

  const service = await startTestService({
    dataDir,
    log,
    env: { BROKER_ALLOWED_HOSTS: 'allowed.example' },
    embeddedBroker: true,
  });
  const { body } = await reached(() => service.rest('GET', `${path}/status`));
  expect(body).toMatchObject([
    { connectionName: 'hq', state: 'FAILED', error: expect.stringContaining('no longer allowed') },
  ]);
  const again = await service.rest('PUT', `${path}/config`, service.root, wanted);
  expect([again.status, again.body.info.issues[0].path]).toEqual([400, '/connections/0/url']);
  expect((await service.rest('PUT', `${path}/config`, service.root, { connections: [] })).status).toBe(204);
  expect((await service.rest('GET', `${path}/status`)).body).toEqual([]);
  expect(logged.length).toBeGreaterThan(0);
  expect(logged.join()).not.toContain(PASSWORD);
});
