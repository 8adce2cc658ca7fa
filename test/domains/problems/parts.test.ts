import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { ADMIN, FOLLOWED_LOG, startMosquitto } from '../../support/mosquitto.ts';
import { startTestService } from '../../support/service.ts';
import { noSmallDisk, smallDisk } from '../../support/small-disk.ts';
import { subscribe } from '../../support/subscription.ts';
import { together } from '../../support/together.ts';
import { clusterWorld } from '../clusters/cluster-world.ts';
import { mosquittoWorld, streamWorld } from '../streams/stream-world.ts';
import { closedAfter, LASTING_MS, openedAfter, problemsOf } from './problem-world.ts';

together({
  'a stream fed with garbage and a bridge whose target is gone open problems, which close afterwards': async () => {
    const [local, remote] = [await startMosquitto({ access: 'passwords' }), await startMosquitto()];
    // Three services start at the same time.
    const world = await mosquittoWorld(local, { BROKER_TIMEOUT_MS: '60000' });
    const { service, brokerId } = world;
    const query = { select: [{ source: '[value]', target: '[value]' }] };
    await world.change(
      'createStream',
      { name: 'numbers', sourceTopic: 'in/#', targetTopic: 'out', query },
      '__typename',
    );
    const config = {
      connections: [{ name: 'up', url: remote.url, topics: [{ pattern: 'up/#', direction: 'out', qos: 1 }] }],
    };
    await world.change('updateBridgeConfig', { bridgeKey: 'mqtt-bridge', config }, '__typename');
    const client = await world.client();
    const garbageAt = Date.now();
    const timer = setInterval(() => void client.publishAsync('in/a', 'garbage').catch(() => undefined), 100);

    const failing = await openedAfter(service, 'STREAM_FAILING', { causedAt: garbageAt, withinMs: LASTING_MS });
    expect(failing).toMatchObject({
      subjectName: 'numbers',
      subject: { __typename: 'Stream' },
      broker: { id: brokerId },
    });
    expect(failing.detail).toMatch(/^\d+ % of the messages of the stream "numbers" fail\. The last reason: /);
    clearInterval(timer);
    const stoppedAt = Date.now();
    expect(await problemsOf(service, { kinds: ['BRIDGE_DOWN'] })).toEqual([]);
    await remote.kill();
    expect(await openedAfter(service, 'BRIDGE_DOWN', { causedAt: Date.now() })).toMatchObject({
      severity: 'CRITICAL',
      subjectName: 'mqtt-bridge: up',
      subject: { __typename: 'Bridge' },
      broker: { id: brokerId },
    });
    await remote.start();
    await closedAfter(service, 'BRIDGE_DOWN', Date.now());
    await closedAfter(service, 'STREAM_FAILING', stoppedAt);

    const list = await service.rest('GET', `/api/projects/${service.projectId}/problems?open=false`);
    expect([list.status, list.headers.get('x-total-count')]).toEqual([200, '2']);
    expect(list.body.map(({ kind }: { kind: string }) => kind)).toEqual(['BRIDGE_DOWN', 'STREAM_FAILING']);
    const viewer = await service.person(null);
    expect((await service.rest('GET', `/api/projects/${service.projectId}/problems`, viewer.token)).status).toBe(404);
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(metrics).toContain('brokergraph_problems{kind="BRIDGE_DOWN",severity="CRITICAL"} 0');
  },

  'a bridge of the configuration file of a Mosquitto whose target is gone is a problem until it is back': async () => {
    const remote = await startMosquitto();
    const lines = ['connection up', `address 127.0.0.1:${remote.port}`, 'topic up/# out 1', 'restart_timeout 1'];
    const local = await startMosquitto({ access: 'passwords', logTypes: FOLLOWED_LOG, lines });
    const { service, brokerId, client } = await mosquittoWorld(local, { BROKER_TIMEOUT_MS: '60000' });
    const watcher = await client();
    const connected = new Promise<void>((resolve) => {
      watcher.on('message', (_topic, payload) => payload.toString() === '1' && resolve());
    });
    await watcher.subscribeAsync('$SYS/broker/connection/+/state');
    await connected;
    await remote.kill();
    expect(await openedAfter(service, 'BRIDGE_DOWN', { causedAt: Date.now() })).toMatchObject({
      subjectName: expect.stringContaining('up'),
      subject: { __typename: 'Bridge' },
      broker: { id: brokerId },
    });
    await remote.start();
    await closedAfter(service, 'BRIDGE_DOWN', Date.now());
  },

  'a node of a cluster that drifted, and one that is gone, are problems of the cluster': async () => {
    const { service, nodes, entryId } = await clusterWorld(2);
    const [first, second] = nodes;
    if (first === undefined || second === undefined) throw new Error('no nodes');
    const control = (...command: readonly string[]) =>
      execFileSync(
        'mosquitto_ctrl',
        ['-p', String(second.broker.port), '-u', ADMIN.username, '-P', ADMIN.password, 'dynsec', ...command],
        { stdio: 'ignore' },
      );
    const driftedAt = Date.now();
    control('createRole', 'foreign');
    const drifted = await openedAfter(service, 'CLUSTER_DRIFTED', { causedAt: driftedAt, withinMs: LASTING_MS });
    expect(drifted).toMatchObject({ subjectName: 'node 2', broker: { id: entryId }, severity: 'WARNING' });
    control('deleteRole', 'foreign');
    await closedAfter(service, 'CLUSTER_DRIFTED', Date.now());
    await second.broker.kill();
    const down = await openedAfter(service, 'CLUSTER_NODE_DOWN', { causedAt: Date.now() });
    expect(down).toMatchObject({ subjectName: 'node 2', broker: { id: entryId }, severity: 'CRITICAL' });
    await second.broker.start();
    await closedAfter(service, 'CLUSTER_NODE_DOWN', Date.now());
  },

  'a client that floods an embedded broker is a problem that names it': async () => {
    const { service, brokerId, client } = await streamWorld('the embedded broker');
    const set = `mutation ($input: SetProblemThresholdsInput!) { setProblemThresholds(input: $input) { __typename } }`;
    await service.graphql(set, { input: { projectId: service.projectId, clientMessagesPerSecond: 20 } });
    // It is the last one of many.
    await Promise.all(Array.from({ length: 201 }, (_, nth) => client({ clientId: `client-${nth}` })));
    const flooder = await client({ clientId: 'flooder' });
    const floodedAt = Date.now();
    const timer = setInterval(() => {
      for (let count = 0; count < 20; count += 1) void flooder.publishAsync('flood', 'x').catch(() => undefined);
    }, 100);
    const flooding = await openedAfter(service, 'CLIENT_FLOODING', { causedAt: floodedAt, withinMs: LASTING_MS });
    clearInterval(timer);
    const repairedAt = Date.now();
    expect(flooding).toMatchObject({ subjectName: 'flooder', broker: { id: brokerId } });
    expect(flooding.subject).toMatchObject({ __typename: 'ConnectedClient', id: flooding.subjectId });
    await closedAfter(service, 'CLIENT_FLOODING', repairedAt);
  },
});

const OF_SERVICE = 'subscription { serviceProblems { kind problems { id kind closedAt } } }';

test.skipIf(noSmallDisk !== null)('a full disk is a problem of the service, for root administrators only', async () => {
  const disk = smallDisk(64);
  const service = await startTestService({ dataDir: disk.folder, env: { MIN_FREE_MB: '20' } });
  const person = await service.person('ADMIN');
  const live = subscribe(service, service.root, OF_SERVICE);
  await live.until(({ serviceProblems }) => serviceProblems.kind === 'SNAPSHOT');
  await expect(subscribe(service, person.token, OF_SERVICE).until(() => true)).rejects.toMatchObject([
    { extensions: { code: 'NOT_ALLOWED' } },
  ]);
  expect(await problemsOf(service, {})).toEqual([]);
  const filledAt = Date.now();
  disk.fill(30 * 1_048_576);
  const low = await openedAfter(service, 'DISK_LOW', { causedAt: filledAt });
  expect(low).toMatchObject({ severity: 'WARNING', project: null, broker: null, subject: null });
  expect(await problemsOf(service, {}, person.token)).toEqual([]);
  const { serviceProblems } = await live.until((event) => event.serviceProblems.problems.length > 0);
  expect(serviceProblems.problems).toMatchObject([{ id: low.id, kind: 'DISK_LOW', closedAt: null }]);
  disk.free();
  await closedAfter(service, 'DISK_LOW', Date.now());
});
