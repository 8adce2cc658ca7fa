import { expect, test } from 'vitest';
import { subscribe } from '../../../support/subscription.ts';
import { addBroker, streamWorld } from '../../streams/stream-world.ts';
import { listed, publishAll } from './topic-world.ts';

const PAYLOADS = 'payload payloadBase64 payloadBytes isPayloadTruncated';
const TREE = `query ($b: ID!) { broker(id: $b) { topicTree {
  hasPayloads count topics { nodes { topic ${PAYLOADS} } } topic(topic: "plant/1") { payload }
  children { nodes { recorded { payload } children { nodes { recorded { payload } } } } }
} } }`;
const PROJECT = `mutation ($p: ID!, $keep: Boolean, $strict: Boolean) {
  updateProject(input: { projectId: $p, storesTopicPayloads: $keep, hasStrictRoles: $strict }) { project { settings { storesTopicPayloads hasStrictRoles } } }
}`;
const SET = 'mutation ($input: SetTopicTtlInput!) { setTopicTtl(input: $input) { broker { id } } }';
const UPDATE = 'mutation ($input: UpdateTopicTreeInput!) { updateTopicTree(input: $input) { broker { id } } }';
const FOLLOW = `subscription ($b: ID!) { topics(brokerId: $b) { kind count added { topic ${PAYLOADS} } changed { topic payload } } }`;
const NOTHING = { payload: null, payloadBase64: null, payloadBytes: null, isPayloadTruncated: null };
const WHOLE = { payload: 'secret', payloadBase64: 'c2VjcmV0', payloadBytes: 6, isPayloadTruncated: false };

test('viewers read topics, editors read payloads if the project stores them, and others see no broker', async () => {
  const world = await streamWorld('the embedded broker');
  const { service, brokerId: b } = world;
  const client = await world.client();
  await listed(world, 0);
  await publishAll(client, { 'plant/1': 'secret' });
  await listed(world, 1);
  const viewer = (await service.person('VIEWER')).token;
  const editor = (await service.person('EDITOR')).token;
  const tree = async (token: string) => (await service.graphql(TREE, { b }, token)).data.broker.topicTree;

  expect(await tree(viewer)).toEqual({
    hasPayloads: false,
    count: 1,
    topics: { nodes: [{ topic: 'plant/1', ...NOTHING }] },
    topic: { payload: null },
    children: { nodes: [{ recorded: null, children: { nodes: [{ recorded: { payload: null } }] } }] },
  });
  expect(await tree(editor)).toEqual({
    hasPayloads: true,
    count: 1,
    topics: { nodes: [{ topic: 'plant/1', ...WHOLE }] },
    topic: { payload: 'secret' },
    children: { nodes: [{ recorded: null, children: { nodes: [{ recorded: { payload: 'secret' } }] } }] },
  });

  // The same event for both, each with what it may read.
  const [low, high] = [viewer, editor].map((token) => subscribe(service, token, FOLLOW, { b }));
  if (!low || !high) throw new Error('not followed');
  await Promise.all([low.until(() => true), high.until(() => true)]);
  await publishAll(client, { 'plant/2': 'secret' });
  const added = async (feed: typeof low) =>
    (await feed.until(({ topics }) => topics.added.length > 0)).topics.added as unknown[];
  expect(await added(low)).toEqual([{ topic: 'plant/2', ...NOTHING }]);
  expect(await added(high)).toEqual([{ topic: 'plant/2', ...WHOLE }]);

  // Switched off: at once, for what was kept and for what is followed.
  const project = (keep: boolean | null, strict: boolean | null) =>
    service.graphql(PROJECT, { p: service.projectId, keep, strict });
  expect((await project(false, null)).data.updateProject.project.settings.storesTopicPayloads).toBe(false);
  expect((await tree(editor)).topics.nodes).toMatchObject([NOTHING, NOTHING]);
  await publishAll(client, { 'plant/3': 'secret' });
  expect(await added(high)).toEqual([{ topic: 'plant/3', ...NOTHING }]);
  await project(true, null);
  // What was kept before is gone, and of what came meanwhile nothing was.
  expect((await tree(editor)).topics.nodes).toMatchObject([NOTHING, NOTHING, NOTHING]);
  await publishAll(client, { 'plant/4': 'secret' });
  expect(await added(high)).toEqual([{ topic: 'plant/4', ...WHOLE }]);

  const codeOf = async (document: string, variables: Record<string, unknown>, token: string) =>
    (await service.graphql(document, variables, token)).errors?.[0]?.extensions.code;
  const ttl = { input: { brokerId: b, ttl: 60 } };
  expect(await codeOf(SET, ttl, viewer)).toBeUndefined();
  await project(null, true);
  expect(await codeOf(SET, ttl, viewer)).toBe('NOT_ALLOWED');
  expect(await codeOf(SET, ttl, editor)).toBeUndefined();
  const limits = { input: { brokerId: b, publishLimit: 100 } };
  expect(await codeOf(UPDATE, limits, viewer)).toBe('NOT_ALLOWED');
  expect(await codeOf(UPDATE, limits, editor)).toBeUndefined();

  const outsider = (await service.person(null)).token;
  const { data } = await service.graphql(
    `mutation ($p: ID!, $other: ID!) { createToken(input: { projectId: $p, name: "t", role: EDITOR, brokerIds: [$other] }) { secret } }`,
    { p: service.projectId, other: await addBroker(service, 'mqtt://127.0.0.1:9') },
  );
  for (const token of [outsider, data.createToken.secret]) {
    expect(await codeOf(TREE, { b }, token)).toBe('NOT_FOUND');
    expect(await codeOf(SET, ttl, token)).toBe('NOT_FOUND');
    expect(await codeOf(UPDATE, limits, token)).toBe('NOT_FOUND');
    await expect(subscribe(service, token, FOLLOW, { b }).until(() => true)).rejects.toMatchObject([
      { extensions: { code: 'NOT_FOUND' } },
    ]);
  }
});

test('a subscription ends with the permission for the broker, and its payloads end with the EDITOR role', async () => {
  const world = await streamWorld('the embedded broker');
  const { service, brokerId: b } = world;
  const client = await world.client();
  const person = await service.person('EDITOR');
  const feed = subscribe(service, person.token, FOLLOW, { b });
  await feed.until(() => true);
  await publishAll(client, { a: 'secret' });
  expect((await feed.until(({ topics }) => topics.added.length > 0)).topics.added).toMatchObject([WHOLE]);
  const role = (name: string) =>
    service.graphql(
      `mutation ($p: ID!, $email: String!) { setProjectMember(input: { projectId: $p, email: $email, role: ${name} }) { member { role } } }`,
      { p: service.projectId, email: person.email },
    );
  await role('VIEWER');
  await publishAll(client, { b: 'secret' });
  expect((await feed.until(({ topics }) => topics.added.length > 0)).topics.added).toEqual([
    { topic: 'b', ...NOTHING },
  ]);
  await service.graphql(
    'mutation ($p: ID!, $email: String!) { removeProjectMember(input: { projectId: $p, email: $email }) { user { id } } }',
    { p: service.projectId, email: person.email },
  );
  await expect(feed.until(() => false)).rejects.toThrow('NOT_ALLOWED');
  expect(await feed.closed).toBe(4403);
});
