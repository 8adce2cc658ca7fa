import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import pino from 'pino';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { errorStatements } from '../../../src/protocol/problems/problem-statements.ts';
import { freePort } from '../../support/free-port.ts';
import { startTestService } from '../../support/service.ts';
import { clusterWorld } from '../clusters/cluster-world.ts';
import { problemsOf, SLOW } from '../problems/problem-world.ts';
import {
  closeProblem,
  createChannel,
  deliveriesOf,
  metricsOf,
  openProblem,
  openProblems,
  SECRET,
  seenIn,
  startReceiver,
} from './notification-world.ts';

const TEST = `mutation ($input: TestNotificationChannelInput!) { testNotificationChannel(input: $input) {
  isDelivered responseStatus response error } }`;
const UPDATE = `mutation ($input: UpdateNotificationChannelInput!) { updateNotificationChannel(input: $input) {
  notificationChannel { id } } }`;
const DELETE_CLUSTER = 'mutation ($input: DeleteClusterInput!) { deleteCluster(input: $input) { __typename } }';
const RESEND = `mutation ($input: ResendNotificationDeliveryInput!) { resendNotificationDelivery(input: $input) {
  delivery { id state attempts } } }`;

test('a channel that fails is one warning in the log, with its name and the reason', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const [service, receiver] = await Promise.all([startTestService({ log }), startReceiver()]);
  receiver.respond = (response) => void response.writeHead(503).end();
  const id = await createChannel(service, { target: { webhook: { url: receiver.url } } });
  await openProblem(service, 'a');
  await expect.poll(() => deliveriesOf(service, id)).toMatchObject([{ attempts: 2 }]);
  const about = lines.filter(({ msg }) => msg === 'a notification channel is down');
  const { projectId } = service;
  const reason = expect.stringContaining('503');
  expect(about).toMatchObject([{ level: 40, channelId: id, name: 'channel', projectId, reason }]);
  expect(about[0]?.since).toEqual(expect.stringMatching(/^20.*Z$/));
});

test('an opening and a closing arrive in order, with signatures that standardwebhooks verifies', async () => {
  const [service, receiver] = await Promise.all([startTestService(), startReceiver()]);
  const headers = [{ name: 'Authorization', value: 'Bearer of the receiver' }];
  const id = await createChannel(service, {
    target: { webhook: { url: `${receiver.url}/hook`, secret: SECRET, headers } },
  });
  await openProblem(service, 'a "quoted" name');
  await closeProblem(service, 'a "quoted" name');
  await expect.poll(() => seenIn(receiver)).toEqual(['OPENED a "quoted" name', 'CLOSED a "quoted" name']);
  for (const { headers: sent, text, body } of receiver.requests) {
    expect(new Webhook(SECRET).verify(text, sent as Record<string, string>)).toEqual(body);
    expect(() => new Webhook(SECRET).verify(`${text} `, sent as Record<string, string>)).toThrow();
    expect(sent).toMatchObject({ authorization: 'Bearer of the receiver', 'content-type': 'application/json' });
  }
  const [opened, closed] = receiver.requests.map(({ body }) => body);
  expect(opened).toMatchObject({
    type: 'problem.opened',
    data: { kind: 'BRIDGE_DOWN', severity: 'CRITICAL', project: { id: service.projectId }, closedAt: null },
  });
  expect(closed).toMatchObject({ type: 'problem.closed', data: { id: opened.data.id, closedAt: expect.any(String) } });
  await expect.poll(() => deliveriesOf(service, id, 'DELIVERED')).toHaveLength(2);
  const [newest] = await deliveriesOf(service, id);
  expect(newest).toMatchObject({ number: 2, attempts: 1, responseStatus: 204, error: null, nextAttemptAt: null });
  expect(receiver.requests.map(({ headers: sent }) => sent['webhook-id'])).toContain(newest.id);
});

test('what a deleted broker and a deleted cluster had as problems is closed for the receiver, with their names', async () => {
  const [{ service, nodes, clusterId, graph }, receiver] = await Promise.all([clusterWorld(2), startReceiver()]);
  await createChannel(service, { target: { webhook: { url: receiver.url } } });
  const port = await freePort();
  const path = `/api/projects/${service.projectId}/brokers`;
  const { body } = await service.rest('POST', path, service.root, { name: 'press', url: `mqtt://127.0.0.1:${port}` });
  await nodes[1]?.broker.kill();
  const seen = () => receiver.requests.map(({ body: { data } }) => `${data.change} ${data.kind} ${data.broker?.name}`);
  const problems = ['BROKER_UNREACHABLE press', 'CLUSTER_NODE_DOWN plant'];
  await expect.poll(seen, SLOW).toEqual(expect.arrayContaining(problems.map((problem) => `OPENED ${problem}`)));

  await service.rest('DELETE', `${path}/${body.id}`);
  await graph(DELETE_CLUSTER, { input: { clusterId, purge: true } });

  await expect.poll(seen, SLOW).toEqual(expect.arrayContaining(problems.map((problem) => `CLOSED ${problem}`)));
  const closing = receiver.requests.find(
    ({ body: { data } }) => data.change === 'CLOSED' && data.broker.id === body.id,
  );
  expect(closing?.body.data.detail).toMatch(/^The broker was deleted\. Before: ./);
  const [listed] = await problemsOf(service, { isOpen: false, kinds: ['BROKER_UNREACHABLE'], brokerIds: [body.id] });
  expect(listed).toMatchObject({ broker: null, brokerName: 'press', subject: null, closedAt: expect.any(String) });
});

test('messages wait behind one that fails, keep its id, and a dead letter can be sent again', async () => {
  const [service, receiver] = await Promise.all([startTestService(), startReceiver()]);
  const id = await createChannel(service, { target: { webhook: { url: receiver.url } } });
  const statuses = [500, 429, 302];
  receiver.respond = (response) => {
    const status = statuses.shift() ?? 200;
    const location = status === 302 ? { location: `${receiver.url}/elsewhere` } : {};
    const headers = { ...location, ...(status === 429 ? { 'retry-after': '1' } : {}) };
    response.writeHead(status, headers).end(status === 200 ? 'taken' : `not now\u0007\0 ${'x'.repeat(5_000)}`);
  };
  await openProblem(service, 'a');
  await closeProblem(service, 'a');
  await expect.poll(() => receiver.requests.length).toBeGreaterThan(0);
  await expect.poll(async () => (await deliveriesOf(service, id))[1]?.attempts).toBeGreaterThan(0);
  const [second, first] = await deliveriesOf(service, id);
  expect(first).toMatchObject({ state: 'PENDING', error: expect.stringMatching(/responded with/) });
  expect(first.response).toMatch(/^not now {2,}x+$/);
  expect(first.response.length).toBeLessThanOrEqual(1_000);
  expect(second).toMatchObject({ attempts: 0, lastAttemptAt: null });
  await expect.poll(() => seenIn(receiver), { timeout: 60_000 }).toEqual([...Array(4).fill('OPENED a'), 'CLOSED a']);
  expect(new Set(receiver.requests.slice(0, 4).map(({ headers }) => headers['webhook-id']))).toEqual(
    new Set([first.id]),
  );

  // A day later.
  const notNow = { 'retry-after': '600' };
  receiver.respond = (response) => void response.writeHead(503, notNow).end();
  await openProblem(service, 'b');
  await expect.poll(async () => (await deliveriesOf(service, id))[0]).toMatchObject({ attempts: 1, state: 'PENDING' });
  expect(await metricsOf(service)).toMatchObject({ channels_failing: 1, dead_letters_total: 0 });
  const { db } = service.storage;
  await db.notificationDelivery.updateMany({
    where: { state: 'PENDING' },
    data: { createdAt: new Date(Date.now() - 25 * 3_600_000), nextAttemptAt: new Date(), attempts: 9 },
  });
  await service.storage.changes.announce('notification-channel', id);
  await expect.poll(async () => (await deliveriesOf(service, id, 'DEAD')).length).toBe(1);
  const [dead] = await deliveriesOf(service, id, 'DEAD');
  receiver.respond = (response) => void response.writeHead(200).end();
  const input = { channelId: id, deliveryId: dead.id };
  const { data } = await service.graphql(RESEND, { input });
  expect(data.resendNotificationDelivery.delivery).toEqual({ id: dead.id, state: 'PENDING', attempts: 0 });
  await expect
    .poll(async () => (await deliveriesOf(service, id))[0])
    .toMatchObject({ state: 'DELIVERED', attempts: 1 });
  expect(seenIn(receiver).at(-1)).toBe('OPENED b');
  expect(await metricsOf(service)).toMatchObject({
    ...{ channels_failing: 0, dead_letters_total: 1 },
    ...{ 'attempts_total{outcome="delivered"}': 3, 'attempts_total{outcome="failed"}': 5 },
  });

  // Those that have waited for more than a day end with the one that is given up, and newer ones do not.
  receiver.respond = (response) => void response.writeHead(503, notNow).end();
  await openProblem(service, 'old');
  await closeProblem(service, 'old');
  const pending = (attempts: number) => ({ state: 'PENDING', attempts });
  await expect.poll(async () => (await deliveriesOf(service, id)).slice(0, 2)).toMatchObject([pending(0), pending(1)]);
  const yesterday = { createdAt: new Date(Date.now() - 25 * 3_600_000), nextAttemptAt: new Date() };
  const { count } = await db.notificationDelivery.updateMany({ where: { state: 'PENDING' }, data: yesterday });
  expect(count).toBe(2);
  await openProblem(service, 'new');
  await service.storage.changes.announce('notification-channel', id);
  // A few attempts fail after a start without a network, too.
  await expect
    .poll(async () => (await deliveriesOf(service, id)).slice(0, 3))
    .toMatchObject([pending(0), pending(0), pending(2)]);
  await db.notificationDelivery.updateMany({
    where: { state: 'PENDING', attempts: 2 },
    data: { attempts: 9, nextAttemptAt: new Date() },
  });
  await service.storage.changes.announce('notification-channel', id);
  await expect
    .poll(async () => (await deliveriesOf(service, id)).slice(0, 3))
    .toMatchObject([
      { state: 'PENDING', attempts: 1 },
      { state: 'DEAD', attempts: 0, error: 'The channel failed for more than a day' },
      { state: 'DEAD', attempts: 10 },
    ]);
  receiver.respond = (response) => void response.writeHead(200).end();
  await db.notificationDelivery.updateMany({ where: { state: 'PENDING' }, data: { nextAttemptAt: new Date() } });
  await service.storage.changes.announce('notification-channel', id);
  await expect.poll(() => seenIn(receiver).at(-1)).toBe('OPENED new');
  await expect.poll(async () => (await deliveriesOf(service, id))[0].state).toBe('DELIVERED');

  // What cannot be read is a dead letter with the reason, and the next message follows.
  const { sealedTarget } = await db.notificationChannel.findUniqueOrThrow({ where: { id } });
  await db.notificationChannel.update({ where: { id }, data: { sealedTarget: 'v1.none.AAAA.AAAA' } });
  await openProblem(service, 'c');
  await expect.poll(async () => (await deliveriesOf(service, id))[0]).toMatchObject({ attempts: 1, state: 'PENDING' });
  const [hour, refusedSince] = [new Date(Date.now() + 3_600_000), new Date(Date.now() - 10 * 60_000)];
  // With other attempts, one that is running writes nothing.
  const unreadable = { refusedSince, nextAttemptAt: hour, content: '{', attempts: 10 };
  await db.notificationDelivery.updateMany({ where: { state: 'PENDING' }, data: unreadable });
  await db.notificationChannel.update({ where: { id }, data: { sealedTarget } });
  await db.notificationDelivery.updateMany({ where: { state: 'PENDING' }, data: { nextAttemptAt: new Date() } });
  await service.storage.changes.announce('notification-channel', id);
  await closeProblem(service, 'c');
  await expect.poll(() => seenIn(receiver).at(-1)).toBe('CLOSED c');
  const where = { channelId: id, state: 'DEAD', error: { startsWith: 'Internal' } } as const;
  const { attempts, error } = await db.notificationDelivery.findFirstOrThrow({ where });
  expect(attempts).toBeGreaterThanOrEqual(2);
  expect(error).toBe('Internal error: the log of the service has it');
});

test('a channel with another address is tried at once', async () => {
  const [service, receiver] = await Promise.all([startTestService(), startReceiver()]);
  receiver.respond = (response) => void response.writeHead(503, { 'retry-after': '600' }).end();
  const id = await createChannel(service, { target: { webhook: { url: receiver.url } } });
  await openProblem(service, 'a');
  await expect.poll(async () => (await deliveriesOf(service, id))[0]?.attempts).toBe(1);
  const other = await startReceiver();
  await service.graphql(UPDATE, { input: { channelId: id, target: { webhook: { url: other.url } } } });
  await expect.poll(() => seenIn(other)).toEqual(['OPENED a']);
  // One that is switched off does not count as failing.
  other.respond = (response) => void response.writeHead(503).end();
  await openProblem(service, 'b');
  const failing = async () => (await metricsOf(service)).channels_failing;
  await expect.poll(failing).toBe(1);
  await service.graphql(UPDATE, { input: { channelId: id, isActive: false } });
  await expect.poll(failing).toBe(0);
});

test('a message is refused for ten minutes before it is a dead letter, however long the receiver was away before', async () => {
  const [service, receiver] = await Promise.all([startTestService(), startReceiver()]);
  const id = await createChannel(service, { target: { webhook: { url: receiver.url } } });
  const { db, changes } = service.storage;
  let status = 503;
  receiver.respond = (response) => void response.writeHead(status, { 'retry-after': '60' }).end();
  const newest = async () => (await deliveriesOf(service, id))[0];
  const elevenMinutesAgo = () => new Date(Date.now() - 11 * 60_000);
  await openProblem(service, 'a');
  await expect.poll(newest).toMatchObject({ state: 'PENDING', attempts: 1 });
  status = 400;
  const where = { state: 'PENDING' } as const;
  await db.notificationDelivery.updateMany({
    where,
    data: { startedAt: elevenMinutesAgo(), nextAttemptAt: new Date() },
  });
  await changes.announce('notification-channel', id);
  await expect.poll(newest).toMatchObject({ state: 'PENDING', responseStatus: 400 });
  await db.notificationDelivery.updateMany({ where, data: { refusedSince: elevenMinutesAgo() } });
  await expect.poll(newest, { timeout: 60_000 }).toMatchObject({ state: 'DEAD', responseStatus: 400 });
});

test('a receiver that is down, and a service that restarts, lose nothing', async () => {
  const [first, receiver] = await Promise.all([startTestService(), startReceiver()]);
  await createChannel(first, { target: { webhook: { url: receiver.url } } });
  await receiver.stop();
  for (const name of ['a', 'b']) {
    await openProblem(first, name);
    await closeProblem(first, name);
  }
  await first.close();
  const { dataDir, databaseUrl } = first.config;
  const second = await startTestService({ dataDir, env: databaseUrl ? { DATABASE_URL: databaseUrl } : {} });
  await openProblem(second, 'c');
  await receiver.start();
  const expected = ['OPENED a', 'CLOSED a', 'OPENED b', 'CLOSED b', 'OPENED c'];
  await expect.poll(() => [...new Set(seenIn(receiver))], { timeout: 60_000 }).toEqual(expected);
});

test('rules select changes, hold short problems back, and collect digests', async () => {
  const [service, receiver] = await Promise.all([startTestService(), startReceiver()]);
  const target = { webhook: { url: receiver.url } };
  await createChannel(service, { target, rules: { severities: ['WARNING'], changes: 'CLOSED' } });
  await createChannel(service, { target: { webhook: { url: `${receiver.url}/slow` } }, rules: { minimumSeconds: 60 } });
  const digest = await createChannel(service, { target, rules: { kinds: ['STREAM_FAILING'], digestMinutes: 10 } });
  const warning = { severity: 'WARNING', kind: 'STREAM_FAILING' } as const;
  await openProblem(service, 'short');
  await closeProblem(service, 'short');
  await openProblem(service, 'long', { at: new Date(Date.now() - 90_000), fact: warning });
  await closeProblem(service, 'long', { fact: warning });
  // Another project, and the service itself.
  await openProblem(service, 'of the service', { projectId: null, fact: warning });
  await expect.poll(() => seenIn(receiver).sort()).toEqual(['CLOSED long', 'CLOSED long', 'OPENED long']);
  const { db } = service.storage;
  await expect.poll(() => db.waitingNotice.count()).toBe(2);
  await db.waitingNotice.updateMany({ data: { dueAt: new Date(Date.now() - 11 * 60_000) } });
  await service.storage.changes.announce('notification-channel', digest);
  await expect.poll(() => receiver.requests.at(-1)?.body.type).toBe('problem.digest');
  const { data } = receiver.requests.at(-1)?.body ?? {};
  expect(data.problems.map((one: { change: string }) => one.change)).toEqual(['OPENED', 'CLOSED']);
  expect(receiver.requests).toHaveLength(4);
});

test('a hostile receiver is bounded, and the response of a test is shown', async () => {
  const [service, receiver] = await Promise.all([startTestService(), startReceiver()]);
  const id = await createChannel(service, { isActive: false, target: { webhook: { url: receiver.url } } });
  let written = 0;
  receiver.respond = (response) => {
    response.writeHead(200);
    const more = () => {
      while (!response.destroyed && written < 100_000_000) {
        written += 65_536;
        if (!response.write('x'.repeat(65_536))) return void response.once('drain', more);
      }
    };
    more();
  };
  const run = async () => (await service.graphql(TEST, { input: { channelId: id } })).data.testNotificationChannel;
  const endless = await run();
  expect(endless).toMatchObject({ isDelivered: true, responseStatus: 200, error: null });
  expect(endless.response).toHaveLength(1_000);
  expect(written).toBeLessThan(20_000_000);
  await receiver.stop();
  expect(await run()).toMatchObject({
    isDelivered: false,
    responseStatus: null,
    error: expect.stringContaining('reached'),
  });
  expect(await deliveriesOf(service, id)).toEqual([]);

  // A caller may test ten times a minute.
  const codeOfTest = async () =>
    (await service.graphql(TEST, { input: { channelId: id } })).errors?.[0]?.extensions.code;
  for (let tested = 2; tested < 10; tested += 1) expect(await codeOfTest()).toBeUndefined();
  expect(await codeOfTest()).toBe('RATE_LIMITED');
});

test('slow receivers of one project delay those of another by an attempt', async () => {
  const [service, slow, quick] = await Promise.all([startTestService(), startReceiver(), startReceiver()]);
  const held: ServerResponse[] = [];
  slow.respond = (response) => void held.push(response);
  for (let nth = 0; nth < 16; nth += 1) await createChannel(service, { target: { webhook: { url: slow.url } } });
  const { data } = await service.graphql('mutation { createProject(input: { name: "other" }) { project { id } } }');
  const projectId = data.createProject.project.id;
  await createChannel(service, { projectId, target: { webhook: { url: quick.url } } });
  await openProblems(service, ['a', 'b', 'c']);
  await expect.poll(() => slow.requests.length).toBe(16);
  await openProblem(service, 'x', { projectId });
  const where = { channel: { projectId } };
  await expect.poll(() => service.storage.db.notificationDelivery.count({ where })).toBe(1);
  const respondOnce = () => held.shift()?.writeHead(204).end();
  await expect.poll(() => respondOnce() && seenIn(quick)).toEqual(['OPENED x']);
  // Of 48.
  const slowOnes = { state: 'DELIVERED', channel: { projectId: service.projectId } } as const;
  expect(await service.storage.db.notificationDelivery.count({ where: slowOnes })).toBeLessThan(16);
});

describe('templates', () => {
  const document = readFileSync(new URL('../../../docs/notifications.md', import.meta.url), 'utf8');
  const templateOf = (name: string): string => {
    const [, template] = new RegExp(`### ${name}\\n[^]*?\`\`\`mustache\\n([^]*?)\`\`\``).exec(document) ?? [];
    if (template === undefined) throw new Error(`no template of ${name}`);
    return template;
  };

  test('those of the document make the bodies that Slack, Teams, PagerDuty and ntfy take', async () => {
    const [service, receiver] = await Promise.all([startTestService(), startReceiver()]);
    const credentials = [{ name: 'routingKey', value: 'key "1"' }];
    for (const name of ['Slack', 'Teams', 'PagerDuty', 'ntfy']) {
      const webhook = { url: `${receiver.url}/${name}`, template: templateOf(name), credentials };
      await createChannel(service, { name, target: { webhook } });
    }
    await openProblem(service, 'line "1"', { fact: { statements: errorStatements('two\nlines <!channel> & co') } });
    await closeProblem(service, 'line "1"');
    await expect.poll(() => receiver.requests.length).toBe(8);
    const bodies = receiver.requests.map(({ body }) => body);
    const slack = bodies.filter(({ text }) => text !== undefined).map(({ text }) => text);
    expect(slack).toEqual([
      ':red_circle: *A bridge is not connected*: line "1" (CRITICAL)\ntwo\nlines &lt;!channel&gt; &amp; co',
      expect.stringMatching(/^:large_green_circle:/),
    ]);
    const [card] = bodies.filter(({ type }) => type === 'message');
    expect(card.attachments[0].content.body).toHaveLength(2);
    const events = bodies.filter(({ routing_key: key }) => key === 'key "1"');
    expect(events.map(({ event_action: action, payload }) => [action, payload.severity])).toEqual([
      ['trigger', 'critical'],
      ['resolve', 'critical'],
    ]);
    expect(new Set(events.map(({ dedup_key: key }) => key)).size).toBe(1);
    const [push] = bodies.filter(({ topic }) => topic === 'brokers');
    expect(push).toMatchObject({ priority: 5, title: 'A bridge is not connected' });
  });

  test('a test opens a problem of its own, and closes it', async () => {
    const [service, receiver] = await Promise.all([startTestService(), startReceiver()]);
    const credentials = [{ name: 'routingKey', value: 'key' }];
    const webhook = { url: receiver.url, template: templateOf('PagerDuty'), credentials };
    const id = await createChannel(service, { target: { webhook } });
    for (let tested = 0; tested < 2; tested += 1) {
      const { data } = await service.graphql(TEST, { input: { channelId: id } });
      expect(data.testNotificationChannel).toMatchObject({ isDelivered: true });
    }
    const events = receiver.requests.map(({ body }) => body);
    expect(events.map(({ event_action: action }) => action)).toEqual(['trigger', 'resolve', 'trigger', 'resolve']);
    const [first, second, third, fourth] = events.map(({ dedup_key: key }) => key);
    expect([first, third]).toEqual([second, fourth]);
    expect(first).not.toBe(third);
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(4);
  });

  test('a digest needs a template that writes all of its problems', async () => {
    const [service, receiver] = await Promise.all([startTestService(), startReceiver()]);
    const webhook = (template: string) => ({ target: { webhook: { url: receiver.url, template } } });
    const [first, all] = ['{"a": "{{problem.title}}"}', '[{{#problems}}{{count}}{{^isLast}},{{/isLast}}{{/problems}}]'];
    const rules = { digestMinutes: 5 };
    const refusalAt = (path: string) => {
      const issues = [{ path, reason: expect.stringContaining('{{#problems}}') }];
      return [{ extensions: { code: 'INVALID', info: { issues } } }];
    };
    const refused = await createChannel(service, { ...webhook(first), rules }).catch((error: Error) => error.message);
    expect(JSON.parse(refused)).toMatchObject(refusalAt('input.target.webhook.template'));

    const update = async (id: string, input: object) => service.graphql(UPDATE, { input: { channelId: id, ...input } });
    const single = await createChannel(service, webhook(first));
    expect((await update(single, { rules })).errors).toMatchObject(refusalAt('input.rules.digestMinutes'));
    expect((await update(single, { ...webhook(all), rules })).errors).toBeUndefined();
    expect((await update(single, webhook(first))).errors).toMatchObject(refusalAt('input.target.webhook.template'));
    expect((await update(single, { ...webhook(first), rules: { digestMinutes: 0 } })).errors).toBeUndefined();
  });

  test('a template that makes no JSON, or too much, is refused', async () => {
    const service = await startTestService();
    const refusal = async (template: string) => {
      const input = { target: { webhook: { url: 'https://hooks.example/a', template } } };
      return createChannel(service, input).then(
        () => null,
        (error: Error) => JSON.parse(error.message)[0].extensions.info.issues,
      );
    };
    const nested = (depth: number, inner = '') =>
      `${'{{#problems}}'.repeat(depth)}${inner}${'{{/problems}}'.repeat(depth)}`;
    // Few tags, each with a name that is searched in 356 sections.
    const parts = ['id', 'kind', 'name', 'count', 'title'];
    const names = parts.flatMap((one) => parts.flatMap((two) => parts.map((three) => `${one}.${two}.${three}`)));
    const tags = names.map((name) => `{{type.${name}}}{{isTest.${name}}}`).join('');
    const searched = nested(6, `${'{{#problem}}'.repeat(350)}${tags}${'{{/problem}}'.repeat(350)}`);
    const path = 'input.target.webhook.template';
    for (const [template, reason] of [
      ['{"a": {{problem.title}}}', 'JSON'],
      ['{"a": "{{problem.title}', 'Mustache'],
      ['{"a": "{{{problem.title}}}"}', 'must not use'],
      ['{"a": "{{>partial}}"}', 'must not use'],
      ['{{=<% %>=}}{"a": "<%problem.title%>"}', 'must not use'],
      ['{"a": "{{problem.constructor}}"}', 'no such value'],
      ['{"a": "{{credentials.other}}"}', 'no such value'],
      ['{"a": "{{problem.subject}}"}', 'it is no text'],
      ['{{#problems}}{"a": "{{broker}}"}{{/problems}}', 'it is no text'],
      ['{"a": [1 {{#problem.isWarning}} 2{{/problem.isWarning}}]}', 'JSON'],
      ['{"a": [1 {{#problem.broker}} 2{{/problem.broker}}]}', 'JSON'],
      ['{"a": [1 {{^problem.project}} 2{{/problem.project}}]}', 'JSON'],
      ['{"a": [1 {{#problem.subject.id}} 2{{/problem.subject.id}}]}', 'JSON'],
      [`{"a": "${nested(20)}"}`, 'steps'],
      [`{"a": "${searched}"}`, 'steps'],
      [`{"a": "${nested(12, 'x'.repeat(1_000))}"}`, 'body of more than'],
      [`{"a": "${'x'.repeat(16_000)}"}`, '16000'],
    ] as const)
      expect([template.slice(0, 60), await refusal(template)]).toEqual([
        template.slice(0, 60),
        [{ path, reason: expect.stringContaining(reason) }],
      ]);
    expect(await refusal('{"a": "{{problem.title}}", "n": {{count}} {{! a comment }} }')).toBeNull();
  });
});
