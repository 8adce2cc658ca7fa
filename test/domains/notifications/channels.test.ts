import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';
import { closeProblem, createChannel, openProblem, SECRET, startReceiver } from './notification-world.ts';

const LIST = `query ($id: ID) { notificationChannels(projectId: $id) {
  id name kind isActive project { id } rules { changes minimumSeconds brokerIds }
  webhook { origin isSigned headerNames credentialNames template document variables } email { to } mqtt { topic } } }`;
const UPDATE = `mutation ($input: UpdateNotificationChannelInput!) { updateNotificationChannel(input: $input) {
  notificationChannel { name isActive rules { changes minimumSeconds } webhook { origin isSigned } } } }`;
const DELETE = `mutation ($input: DeleteNotificationChannelInput!) { deleteNotificationChannel(input: $input) {
  deletedChannelId } }`;
const NODE = 'query ($id: ID!) { node(id: $id) { id } }';
const NOTHING_LISTED = { BROKER_ALLOWED_HOSTS: '' };

test('administrators of the project manage its channels, and secrets are never returned', async () => {
  const service = await startTestService();
  const { graphql, projectId } = service;
  const [admin, editor, stranger] = await Promise.all([
    service.person('ADMIN'),
    service.person('EDITOR'),
    service.person(null),
  ]);
  const webhook = {
    url: 'https://hooks.example.com/services/secret-of-the-path',
    secret: SECRET,
    headers: [{ name: 'X-Key', value: 'secret of the header' }],
  };
  const id = await createChannel(service, { target: { webhook }, rules: { minimumSeconds: 5 } }, admin.token);
  const listed = await graphql(LIST, { id: projectId }, admin.token);
  expect(listed.data.notificationChannels).toMatchObject([
    {
      id,
      kind: 'WEBHOOK',
      project: { id: projectId },
      rules: { changes: 'BOTH', minimumSeconds: 5, brokerIds: [] },
      webhook: { origin: 'https://hooks.example.com', isSigned: true, headerNames: ['X-Key'] },
    },
  ]);
  expect(JSON.stringify(listed)).not.toMatch(/secret-of|secret of|whsec/);
  const row = await service.storage.db.notificationChannel.findUniqueOrThrow({ where: { id } });
  expect(JSON.stringify(row)).not.toMatch(/secret-of|secret of|whsec/);
  expect((await graphql(NODE, { id }, admin.token)).data.node).toEqual({ id });

  const change = { channelId: id, name: 'renamed', isActive: false, rules: { changes: 'CLOSED' } };
  const code = async (document: string, variables: object, token: string) =>
    (await graphql(document, { ...variables }, token)).errors?.[0]?.extensions.code;
  for (const [{ token }, refusal] of [
    [editor, 'NOT_ALLOWED'],
    [stranger, 'NOT_FOUND'],
  ] as const) {
    expect(await code(LIST, { id: projectId }, token)).toBe(refusal);
    expect(await code(UPDATE, { input: change }, token)).toBe(refusal);
    expect(await code(DELETE, { input: { channelId: id } }, token)).toBe(refusal);
    expect(await code(NODE, { id }, token)).toBe(refusal === 'NOT_FOUND' ? undefined : refusal);
  }
  expect((await graphql(UPDATE, { input: change }, admin.token)).data.updateNotificationChannel).toEqual({
    notificationChannel: {
      name: 'renamed',
      isActive: false,
      rules: { changes: 'CLOSED', minimumSeconds: 5 },
      webhook: { origin: 'https://hooks.example.com', isSigned: true },
    },
  });
  // Channels of the service itself are for root administrators.
  expect(await code(LIST, { id: null }, admin.token)).toBe('NOT_ALLOWED');
  const own = { projectId: null, target: { webhook: { url: 'https://hooks.example.com/' } } };
  await expect(createChannel(service, own, admin.token)).rejects.toThrow('NOT_ALLOWED');
  const ofService = await createChannel(service, own);
  expect((await graphql(LIST, { id: null })).data.notificationChannels).toMatchObject([
    { id: ofService, project: null },
  ]);

  expect(await code(DELETE, { input: { channelId: id } }, admin.token)).toBeUndefined();
  expect((await graphql(LIST, { id: projectId })).data.notificationChannels).toEqual([]);
});

test('rules lose brokers that were deleted, and the channel is changed as before', async () => {
  const service = await startTestService();
  const { graphql, projectId } = service;
  const added = async (name: string): Promise<string> => {
    const input = { projectId, name, url: 'mqtt://127.0.0.1:1' };
    const document = 'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }';
    return (await graphql(document, { input })).data.addBroker.broker.id;
  };
  const remove = (brokerId: string) =>
    graphql('mutation ($id: ID!) { deleteBroker(input: { brokerId: $id }) { deletedBrokerId } }', { id: brokerId });
  const [first, second] = [await added('first'), await added('second')];
  const target = { webhook: { url: 'https://hooks.example.com/' } };
  const channelId = await createChannel(service, { target, rules: { brokerIds: [first, second] } });
  const change = async (input: object) => {
    const { errors } = await graphql(UPDATE, { input: { channelId, ...input } });
    const [channel] = (await graphql(LIST, { id: projectId })).data.notificationChannels;
    return [errors?.[0]?.extensions.code ?? channel.isActive, channel.rules.brokerIds];
  };

  await remove(first);
  expect(await change({ isActive: false })).toEqual([false, [second]]);
  expect(await change({ rules: { brokerIds: [first, second] } })).toEqual(['INVALID', [second]]);
  // Rules without brokers would select all of them.
  await remove(second);
  expect(await change({ isActive: true })).toEqual([true, [second]]);
});

test('a project and the service itself have at most 50 channels each, also if several are created at once', async () => {
  const service = await startTestService();
  const target = { webhook: { url: 'https://hooks.example.com/' } };
  for (const projectId of [service.projectId, null]) {
    const rows = Array.from({ length: 48 }, (_, i) => ({ id: `ntc_${projectId}_${i}`, projectId, name: 'c' }));
    const columns = { kind: 'EMAIL' as const, target: '{"kind":"EMAIL","to":[]}', rules: '{}', trustedUrl: false };
    await service.storage.db.notificationChannel.createMany({ data: rows.map((row) => ({ ...row, ...columns })) });
    const results = await Promise.allSettled(
      Array.from({ length: 4 }, () => createChannel(service, { projectId, target })),
    );
    const refused = results.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
    expect(refused).toEqual([expect.stringContaining('"IN_USE"'), expect.stringContaining('"IN_USE"')]);
    expect(await service.storage.db.notificationChannel.count({ where: { projectId } })).toBe(50);
  }
});

test('only a root administrator can enter an internal address, also by another name or with a redirect', async () => {
  const [service, receiver] = await Promise.all([startTestService({ env: NOTHING_LISTED }), startReceiver()]);
  const admin = await service.person('ADMIN');
  const target = (url: string) => ({ target: { webhook: { url } } });
  const { port } = new URL(receiver.url);
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '169.254.169.254'])
    await expect(createChannel(service, target(`http://${host}:${port}/`), admin.token)).rejects.toThrow(
      'input.target.webhook.url',
    );
  for (const url of ['ftp://hooks.example/', 'http://user:pass@hooks.example/', 'no url'])
    await expect(createChannel(service, target(url))).rejects.toThrow('input.target.webhook.url');
  const id = await createChannel(service, target(receiver.url));
  await openProblem(service, 'a');
  await expect.poll(() => receiver.requests.length).toBe(1);
  const update = async (url: string, token?: string) =>
    (await service.graphql(UPDATE, { input: { channelId: id, ...target(url) } }, token)).errors?.[0]?.extensions.code;
  expect(await update(receiver.url, admin.token)).toBeUndefined();
  expect(await update(`${receiver.url}/other`, admin.token)).toBe('INVALID');
  expect(await update('https://hooks.example/', admin.token)).toBeUndefined();
  expect(await update(receiver.url, admin.token)).toBe('INVALID');
});

test('the body may be the result of a stored subscription, with the rights of a viewer of the project', async () => {
  const [service, receiver] = await Promise.all([startTestService(), startReceiver()]);
  const admin = await service.person('ADMIN');
  const document = `subscription ($id: ID!, $isLong: Boolean = false) { problems(projectId: $id) {
    problems { kind title closedAt project { name notificationsOfOthers: viewerCanManageNotifications }
      detail @include(if: $isLong) } removed } }`;
  const create = (webhook: object) =>
    createChannel(service, { target: { webhook: { url: receiver.url, ...webhook } } }, admin.token);
  const variables = { id: service.projectId };
  const id = await create({ document, variables });
  expect((await service.graphql(LIST, { id: service.projectId })).data.notificationChannels).toMatchObject([
    { id, webhook: { document, variables } },
  ]);
  await openProblem(service, 'a');
  await closeProblem(service, 'a');
  await expect.poll(() => receiver.requests.length).toBe(2);
  const problem = {
    kind: 'BRIDGE_DOWN',
    title: 'A bridge is not connected',
    closedAt: null,
    project: { name: expect.any(String), notificationsOfOthers: false },
  };
  expect(receiver.requests.map(({ body }) => body)).toEqual([
    { data: { problems: { problems: [problem], removed: [] } } },
    { data: { problems: { problems: [{ ...problem, closedAt: expect.any(String) }], removed: [] } } },
  ]);

  // A process that is killed after its write announces nothing, so no other one has the problem in its memory.
  const { db } = service.storage;
  const { id: _id, ...row } = await db.problem.findFirstOrThrow();
  await db.problem.create({ data: { ...row, id: 'prb_killed', key: 'killed', openKey: null } });
  const { value } = await db.problemCounter.update({ where: { id: 1 }, data: { value: { increment: 1 } } });
  await db.problemChange.create({
    data: { sequence: value, problemId: 'prb_killed', change: 'OPENED', at: new Date() },
  });
  await expect.poll(() => receiver.requests.length, { timeout: 60_000 }).toBe(3);
  expect(receiver.requests[2]?.body).toEqual({ data: { problems: { problems: [problem], removed: [] } } });

  for (const [webhook, reason] of [
    [{ document: 'subscription { problems(projectId: "p") { nothing } }' }, 'Cannot query field'],
    [{ document }, 'was not provided'],
    [{ document, variables: [] }, 'must be an object'],
    [{ document: 'subscription { serviceProblems { removed } }' }, 'one subscription of the field'],
    [{ document: '{ viewer { name } }' }, 'one subscription of the field'],
    [{ document: 'subscription { job(id: "job_1") { sequence } }' }, 'one subscription of the field'],
    [{ document: `subscription { ${'a'.repeat(16_000)} }` }, '16000'],
    [{ document, variables, template: '{}' }, 'cannot be combined'],
    [{ document: `subscription { problems(projectId: "p") { problems { ${deep(20)} } } }` }, 'levels of fields'],
  ] as const)
    await expect(create(webhook)).rejects.toThrow(reason);
});

const deep = (levels: number): string =>
  `${'project { problems { nodes { '.repeat(levels)}id${' } } }'.repeat(levels)}`;
