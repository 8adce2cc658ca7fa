import { expect, test } from 'vitest';
import { ADMIN, FOLLOWED_LOG, startMosquitto } from '../../../support/mosquitto.ts';
import { startTestService } from '../../../support/service.ts';
import { addBroker, worldOf } from '../../streams/stream-world.ts';
import { listed, publishAll } from './topic-world.ts';

const TREE = `query ($b: ID!) { broker(id: $b) {
  topicTree { state reason deniedFilters count topics { names } unavailable { subscribed } }
  connectedClients { totalCount } topicTtl accessRole(roleName: "admin") { roleName }
} }`;

const FOLLOW = 'subscription ($b: ID!) { topics(brokerId: $b) { kind state reason } }';

test('if a broker denies #, the missing permission is named, and the allowed filters are recorded', async () => {
  const mosquitto = await startMosquitto({ access: 'dynsec', logTypes: FOLLOWED_LOG });
  const client = await mosquitto.client();
  await client.subscribeAsync('$CONTROL/dynamic-security/v1/response', { qos: 1 });
  const allowed = (acltype: string, topic: string) => ({ acltype, topic, priority: 1, allow: true });
  const acls = ['$CONTROL/#', '$SYS/#', 'plant/#'].flatMap((topic) =>
    ['subscribePattern', 'publishClientReceive', 'publishClientSend'].map((acltype) => allowed(acltype, topic)),
  );
  const commands = [
    { command: 'createRole', rolename: 'gateway', acls },
    { command: 'createClient', username: 'gateway', password: ADMIN.password, roles: [{ rolename: 'gateway' }] },
  ];
  const answered = new Promise<void>((resolve) => client.once('message', () => resolve()));
  await client.publishAsync('$CONTROL/dynamic-security/v1', JSON.stringify({ commands }), { qos: 1 });
  await answered;
  const service = await startTestService();
  const { body } = await service.rest('POST', `/api/projects/${service.projectId}/brokers`, service.root, {
    name: 'plant',
    url: mosquitto.url,
    username: 'gateway',
    password: ADMIN.password,
  });
  const world = worldOf(service, body.id, mosquitto.url, ADMIN);
  const { topicTree, ...rest } = (await world.graph(TREE)).broker;
  expect(topicTree).toMatchObject({ state: 'DENIED', deniedFilters: ['#'], count: 0, topics: { names: [] } });
  expect(topicTree.reason).toContain('user "gateway"');
  expect(topicTree.reason).toContain('"#"');
  expect(topicTree.reason).toContain('subscribePattern');
  expect(rest).toMatchObject({ connectedClients: { totalCount: expect.any(Number) }, topicTtl: 60 });

  const first = await world.follow(FOLLOW).until(() => true);
  expect(first.topics).toEqual({ kind: 'SNAPSHOT', state: 'DENIED', reason: topicTree.reason });

  expect((await world.rest('GET', '/topictree')).body).toMatchObject({
    publishTopics: { count: 0, topics: [] },
    reason: topicTree.reason,
  });

  // What the account may read is recorded.
  await world.change('updateTopicTree', { filters: ['plant/#', 'hall/#'] });
  const publisher = await mosquitto.client({ username: 'gateway' });
  await publishAll(publisher, { 'plant/1': 'x' });
  await listed(world, 1);
  expect((await world.graph(TREE)).broker.topicTree).toMatchObject({
    state: 'DENIED',
    deniedFilters: ['hall/#'],
    topics: { names: ['plant/1'] },
  });
  await world.change('updateTopicTree', { filters: ['plant/#'] });
  expect((await world.graph(TREE)).broker.topicTree).toMatchObject({
    state: 'RECORDING',
    reason: null,
    deniedFilters: [],
  });
});

test('if the broker does not publish its log, subscriptions are missing, and the remedy is returned', async () => {
  const mosquitto = await startMosquitto();
  const service = await startTestService();
  const world = worldOf(service, await addBroker(service, mosquitto.url), mosquitto.url, {});
  await publishAll(await world.client(), { a: 'x' });
  await listed(world, 0);
  const { data, errors } = await service.graphql(
    `query ($b: ID!) { broker(id: $b) { topicTree {
      state unavailable { subscribed } count count2: count(kind: SUBSCRIBED) topics(kind: SUBSCRIBED) { names }
      children(kind: SUBSCRIBED) { totalCount } topic(topic: "a", kind: SUBSCRIBED) { topic } leftOut isTruncated
    } } }`,
    { b: world.brokerId },
  );
  expect(errors).toBeUndefined();
  const { unavailable, ...rest } = data.broker.topicTree;
  expect(unavailable.subscribed).toContain('log_type subscribe');
  expect(rest).toMatchObject({
    state: 'RECORDING',
    count2: null,
    topics: null,
    children: null,
    topic: null,
    leftOut: 0,
    isTruncated: false,
  });
  const feed = world.follow('subscription ($b: ID!) { topics(brokerId: $b, kind: SUBSCRIBED) { kind } }');
  await expect(feed.until(() => true)).rejects.toMatchObject([{ extensions: { code: 'NOT_SUPPORTED_BY_BROKER' } }]);
});
