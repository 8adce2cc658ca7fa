import { expect, test } from 'vitest';
import { keyIn } from '../../../support/cursors.ts';
import { FOLLOWED_LOG, startMosquitto } from '../../../support/mosquitto.ts';
import { KINDS, mosquittoWorld, type StreamWorld, streamWorld } from '../../streams/stream-world.ts';
import { listed, publishAll } from './topic-world.ts';

const worldOf = async (kind: (typeof KINDS)[number]): Promise<StreamWorld> =>
  kind === 'Mosquitto'
    ? mosquittoWorld(await startMosquitto({ access: 'passwords', logTypes: FOLLOWED_LOG }))
    : streamWorld(kind);

const tree = (selection: string, declared = '') =>
  `query ($b: ID!${declared}) { broker(id: $b) { topicTree { ${selection} } } }`;

const TOPICS = {
  'plant/line1/state': 'running',
  'plant/line1/temp': '21.5',
  'plant/line10/temp': '30',
  'plant/line1': 'line',
  '/leading': 'a',
  'a//b': 'empty level',
  'ünï/😀 "x"\\': 'odd',
  bin: Buffer.from([0xff, 0xfe, 0x00]),
  long: 'ä'.repeat(1_000),
};
/** By level; a topic before those below it. */
const IN_ORDER = [
  '/leading',
  'a//b',
  'bin',
  'long',
  'plant/line1',
  'plant/line1/state',
  'plant/line1/temp',
  'plant/line10/temp',
  'ünï/😀 "x"\\',
];

test.each(KINDS)(
  'topics of %s are listed, searched, browsed by level and returned with their last payloads',
  async (kind) => {
    const world = await worldOf(kind);
    const client = await world.client();
    const ask = async (selection: string, declared = '', variables: Record<string, unknown> = {}) =>
      (await world.graph(tree(selection, declared), variables)).broker.topicTree;

    await client.publishAsync('plant/line1/state', 'kept', { qos: 1, retain: true });
    const before = Date.now();
    const first = await ask(
      'nodeId state reason since deniedFilters unavailable { subscribed } hasPayloads leftOut isTruncated messages memoryBytes topics { nodes { topic retain payload messages qos firstSeen lastSeen } totalCount }',
    );
    expect(first).toMatchObject({
      nodeId: null,
      state: 'RECORDING',
      reason: null,
      deniedFilters: [],
      unavailable: null,
      hasPayloads: true,
      leftOut: 0,
      isTruncated: false,
      topics: { nodes: [{ topic: 'plant/line1/state', retain: true, payload: 'kept', messages: 1 }], totalCount: 1 },
    });
    expect(Date.parse(first.since)).toBeGreaterThan(before - 5_000);

    await publishAll(client, TOPICS);
    await listed(world, IN_ORDER.length);
    const all = await ask(
      'count topics(first: 100) { totalCount names edges { cursor } nodes { topic messages retain payload payloadBase64 payloadBytes isPayloadTruncated } pageInfo { hasNextPage hasPreviousPage endCursor } }',
    );
    expect(all.count).toBe(IN_ORDER.length);
    expect(all.topics).toMatchObject({ totalCount: IN_ORDER.length, names: IN_ORDER });
    expect(all.topics.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: false });
    expect(keyIn(all.topics.pageInfo.endCursor)).toBe(IN_ORDER.at(-1));
    expect(all.topics.edges.map(({ cursor }: { cursor: string }) => keyIn(cursor))).toEqual(IN_ORDER);
    const byTopic = new Map<string, Record<string, unknown>>(
      all.topics.nodes.map((node: { topic: string }) => [node.topic, node]),
    );
    expect(byTopic.get('plant/line1/state')).toMatchObject({ messages: 2, payload: 'running', payloadBytes: 7 });
    expect(byTopic.get('bin')).toMatchObject({
      payload: null,
      payloadBase64: Buffer.from([0xff, 0xfe, 0x00]).toString('base64'),
      payloadBytes: 3,
      isPayloadTruncated: false,
    });
    // A thousand bytes are kept: 500 of these characters.
    expect(byTopic.get('long')).toMatchObject({
      payload: 'ä'.repeat(500),
      payloadBytes: 2_000,
      isPayloadTruncated: true,
    });

    const names = async (args: string) => (await ask(`topics(${args}) { names totalCount }`)).topics;
    expect(await names('prefix: "plant/line1"')).toEqual({
      names: ['plant/line1', 'plant/line1/state', 'plant/line1/temp'],
      totalCount: 3,
    });
    expect(await names('prefix: "plant/line1/#", offset: 1, first: 1')).toEqual({
      names: ['plant/line1/state'],
      totalCount: 3,
    });
    expect(await names('search: "LINE1", first: 2')).toEqual({
      names: ['plant/line1', 'plant/line1/state'],
      totalCount: 4,
    });
    expect(await names('filter: "plant/+/temp"')).toEqual({
      names: ['plant/line1/temp', 'plant/line10/temp'],
      totalCount: 2,
    });
    expect(await names('filter: "/#"')).toEqual({ names: ['/leading'], totalCount: 1 });
    expect(await names('search: "nothing like it"')).toEqual({ names: [], totalCount: 0 });
    expect(await ask('a: count(prefix: "plant/line1") b: count(prefix: "none")')).toEqual({ a: 3, b: 0 });

    const level = 'name topic topicCount childCount recorded { payload }';
    const levels = await ask(
      `children { totalCount nodes { ${level} children { nodes { ${level} children(first: 1) { totalCount pageInfo { hasNextPage endCursor } nodes { ${level} } } } } } }`,
    );
    expect(levels.children.nodes.map(({ name }: { name: string }) => name)).toEqual([
      '',
      'a',
      'bin',
      'long',
      'plant',
      'ünï',
    ]);
    expect(levels.children.totalCount).toBe(6);
    const plant = levels.children.nodes[4];
    expect(plant).toMatchObject({ topic: 'plant', topicCount: 4, childCount: 2, recorded: null });
    expect(plant.children.nodes).toMatchObject([
      { name: 'line1', topic: 'plant/line1', topicCount: 3, recorded: { payload: 'line' } },
      { name: 'line10', topicCount: 1, recorded: null },
    ]);
    const below = plant.children.nodes[0].children;
    expect(below).toMatchObject({ totalCount: 2, nodes: [{ topic: 'plant/line1/state', childCount: 0 }] });
    const next = await ask(
      'children(of: "plant/line1", after: $after) { nodes { name } pageInfo { hasNextPage } }',
      ', $after: String',
      {
        after: below.pageInfo.endCursor,
      },
    );
    expect(next.children).toEqual({ nodes: [{ name: 'temp' }], pageInfo: { hasNextPage: false } });
    // Levels without a name have places, too.
    const empty = await ask(
      'children(first: 1) { edges { cursor } } below: children(of: "a") { nodes { name topic childCount } }',
    );
    expect(empty.below.nodes).toEqual([{ name: '', topic: 'a/', childCount: 1 }]);
    const after = await ask('children(after: $after, first: 1) { nodes { name } }', ', $after: String', {
      after: empty.children.edges[0].cursor,
    });
    expect(after.children.nodes).toEqual([{ name: 'a' }]);

    expect((await ask('topic(topic: "plant/line1") { payload messages }')).topic).toEqual({
      payload: 'line',
      messages: 1,
    });
    expect((await ask('topic(topic: "plant") { payload }')).topic).toBeNull();

    await client.subscribeAsync(['plant/+/temp', 'all/#'], { qos: 1 });
    const follow =
      'subscription ($b: ID!) { topics(brokerId: $b, kind: SUBSCRIBED) { kind count added { topic qos } } }';
    await world.follow(follow).until(({ topics }) => topics.count >= 2);
    const { subscribed } = await ask('subscribed: topics(kind: SUBSCRIBED) { names }');
    expect(subscribed.names).toEqual(['all/#', 'plant/+/temp']);
  },
);

test.each(KINDS)(
  'a page of topics of %s neither leaves out nor repeats what was there throughout, while others come',
  async (kind) => {
    const world = await worldOf(kind);
    const client = await world.client();
    const numbered = (name: string, count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, at) => [`${name}/${String(at).padStart(3, '0')}/é"\\`, 'x']),
      );
    const there = numbered('there', 60);
    await listed(world, 0);
    await publishAll(client, there);
    await listed(world, 60);
    const read: string[] = [];
    let after: string | null = null;
    for (let page = 0; ; page++) {
      const document = tree(
        'topics(first: 7, after: $after) { names pageInfo { hasNextPage endCursor } }',
        ', $after: String',
      );
      const answer = await world.graph(document, { after });
      const { names, pageInfo } = answer.broker.topicTree.topics;
      read.push(...names);
      after = pageInfo.endCursor;
      if (!pageInfo.hasNextPage) break;
      await publishAll(client, {
        [`there/${String(page * 7).padStart(3, '0')}/a`]: 'x',
        [`new/${page}`]: 'x',
        [`z/${page}`]: 'x',
      });
    }
    expect(read.filter((topic) => topic in there)).toEqual(Object.keys(there));
    expect(new Set(read).size).toBe(read.length);
  },
);

test.each(KINDS)(
  'the TTL and the other settings of %s are returned, changed together, and refused with their paths',
  async (kind) => {
    const world = await worldOf(kind);
    const SETTINGS = 'ttl filters excludedFilters publishLimit subscribeLimit payloadLimit isAlwaysOn';
    const read = async () =>
      (
        await world.graph(
          `query ($b: ID!) { broker(id: $b) { topicTtl topicTtls topicTree { settings { ${SETTINGS} } } } }`,
        )
      ).broker;
    expect(await read()).toEqual({
      topicTtl: 60,
      topicTtls: null,
      topicTree: {
        settings: {
          ttl: 60,
          filters: [],
          excludedFilters: [],
          publishLimit: 50_000,
          subscribeLimit: 50_000,
          payloadLimit: 1_000,
          isAlwaysOn: false,
        },
      },
    });
    expect(await world.change('setTopicTtl', { ttl: 3_600 }, 'broker { topicTtl }')).toEqual({
      broker: { topicTtl: 3_600 },
    });
    const changed = {
      filters: ['plant/#', 'hall/+'],
      excludedFilters: ['plant/noise/#'],
      publishLimit: 2,
      payloadLimit: 4,
    };
    const { broker } = await world.change(
      'updateTopicTree',
      changed,
      `broker { topicTree { settings { ${SETTINGS} } } }`,
    );
    expect(broker.topicTree.settings).toMatchObject({ ...changed, ttl: 3_600, subscribeLimit: 50_000 });

    const client = await world.client();
    await listed(world, 0);
    await publishAll(client, { 'plant/a': '123456', 'plant/noise/b': 'x', other: 'x', 'hall/1': 'x' });
    await listed(world, 2);
    await publishAll(client, { 'hall/2': 'x' });
    const follow = world.follow('subscription ($b: ID!) { topics(brokerId: $b) { count leftOut isTruncated } }');
    await follow.until(({ topics }) => topics.leftOut >= 1);
    const now = await world.graph(
      tree('count leftOut(kind: PUBLISHED) isTruncated topics { names nodes { payload isPayloadTruncated } }'),
    );
    expect(now.broker.topicTree).toMatchObject({
      count: 2,
      leftOut: 1,
      isTruncated: true,
      topics: { names: ['hall/1', 'plant/a'] },
    });
    expect(now.broker.topicTree.topics.nodes[1]).toEqual({ payload: '1234', isPayloadTruncated: true });

    const places = async (name: string, input: Record<string, unknown>) => {
      const { extensions } = await world.unchanged(name, input);
      const { issues } = extensions.info as { issues: { path: string }[] };
      return [extensions.code, ...issues.map(({ path }) => path)];
    };
    expect(await places('setTopicTtl', { ttl: 0 })).toEqual(['INVALID', 'input.ttl']);
    expect(await places('setTopicTtl', { ttl: 60, nodeId: 1 })).toEqual(['INVALID', 'input.nodeId']);
    expect(await places('updateTopicTree', { filters: ['ok/#', 'a#'], publishLimit: -1 })).toEqual(
      expect.arrayContaining(['INVALID', 'input.filters.1', 'input.publishLimit']),
    );
    expect((await read()).topicTree.settings).toMatchObject({ ...changed, ttl: 3_600 });
    const issues = async (args: string, field = `topics(${args}) { names }`) => {
      const { extensions } = await world.refused(tree(field));
      const { issues: told } = extensions.info as { issues: { path: string }[] };
      return [extensions.code, ...told.map(({ path }) => path)];
    };
    expect(await issues('prefix: ""')).toEqual(['INVALID', 'prefix']);
    expect(await issues('prefix: "a/+", search: "", filter: "a/#/b"')).toEqual([
      'INVALID',
      'prefix',
      'search',
      'filter',
    ]);
    expect(await issues('prefix: "/"')).toEqual(['INVALID', 'prefix']);
    const tooLong = 'é'.repeat(65_536);
    expect(await issues(`after: "${tooLong}"`)).toEqual(['INVALID', 'after']);
    expect(await issues('', `topic(topic: "${tooLong}") { topic }`)).toEqual(['INVALID', 'topic']);
    expect(await issues('', `children(of: "${tooLong}") { totalCount }`)).toEqual(['INVALID', 'of']);
    expect(await issues('first: -1, offset: -1')).toEqual(['INVALID', 'first', 'offset']);
    expect((await world.refused(tree('topics(last: 1) { names }'))).extensions.code).toBe('INVALID');
    expect((await world.refused(tree('children(after: "no cursor") { totalCount }'))).extensions.code).toBe('INVALID');
    const node = await world.refused('query ($b: ID!) { broker(id: $b) { topicTtl(nodeId: 1) } }');
    expect(node.extensions).toMatchObject({ code: 'INVALID', info: { issues: [{ path: 'nodeId' }] } });
    const follows = world.follow('subscription ($b: ID!) { topics(brokerId: $b, prefix: "") { kind } }');
    await expect(follows.until(() => true)).rejects.toMatchObject([{ extensions: { code: 'INVALID' } }]);
  },
);

test('no broker is queried about levels without children, however many a page has', async () => {
  const world = await worldOf('Mosquitto');
  const client = await world.client();
  await listed(world, 0);
  const leaves = 2_500;
  for (let at = 1; at < leaves; at += 1) client.publish(`plant/${at}`, 'x');
  await client.publishAsync('plant/0', 'x', { qos: 1 });
  await listed(world, leaves);
  const { broker } = await world.graph(
    tree(`children(of: "plant", first: ${leaves}) { nodes { children { totalCount } } }`),
  );
  const { nodes } = broker.topicTree.children;
  expect(nodes).toHaveLength(leaves);
  expect(nodes[0]).toEqual({ children: { totalCount: 0 } });
});

test('long payloads are returned until the size limit of a document is reached', async () => {
  const world = await worldOf('the embedded broker');
  await world.change('updateTopicTree', { payloadLimit: 65_536 });
  const client = await world.client();
  await listed(world, 0);
  const payload = Buffer.alloc(65_536, 'x');
  await publishAll(client, Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`plant/${at}`, payload])));
  await listed(world, 30);
  const times = (count: number, selection: string) =>
    Array.from({ length: count }, (_, at) => `${selection.charAt(0)}${at}: ${selection}`).join(' ');
  const read = (pages: number, payloads: number) =>
    tree(times(pages, `topics(first: 30) { nodes { ${times(payloads, 'payload')} } }`));
  const { broker } = await world.graph(read(1, 2));
  expect(broker.topicTree.t0.nodes[29].p1).toHaveLength(65_536);
  expect((await world.refused(read(4, 12))).extensions).toMatchObject({
    code: 'TOO_COMPLEX',
    info: { limit: 100_000 },
  });
});
