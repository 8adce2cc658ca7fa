import { expect, test } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { opened } from '../problems/problem-world.ts';
import { closeProblem, createChannel, openProblem, seenIn, startReceiver } from './notification-world.ts';

const UPDATE = `mutation ($input: UpdateNotificationChannelInput!) { updateNotificationChannel(input: $input) {
  notificationChannel { isActive } } }`;
const SILENCE = `mutation ($input: SilenceProblemsInput!) { silenceProblems(input: $input) { silence { id } } }`;
const END = 'mutation ($input: EndSilenceInput!) { endSilence(input: $input) { endedSilenceId } }';

const WARNING = { fact: { severity: 'WARNING' } } as const;
const CRITICAL = { fact: { severity: 'CRITICAL' } } as const;
const ago = (seconds: number) => ({ at: new Date(Date.now() - seconds * 1_000) });

/** Waits until all changes were passed to the channels. */
async function passed({ storage, services }: TestService): Promise<void> {
  const position = async () => (await storage.db.notificationPosition.findFirst())?.sequence;
  await expect.poll(position).toBe(await services.problems.lastSequence());
}

test('a problem that becomes more severe is sent once more, and its closing follows although it became less so', async () => {
  const [service, all, critical] = await Promise.all([startTestService(), startReceiver(), startReceiver()]);
  await createChannel(service, { target: { webhook: { url: all.url } } });
  const rules = { severities: ['CRITICAL'] };
  await createChannel(service, { rules, target: { webhook: { url: critical.url } } });
  for (const severity of [WARNING, CRITICAL, WARNING, CRITICAL, WARNING]) await openProblem(service, 'a', severity);
  await closeProblem(service, 'a');
  const severities = () => all.requests.map(({ body: { data } }) => `${data.change} ${data.severity}`);
  await expect.poll(severities).toEqual(['OPENED WARNING', 'OPENED CRITICAL', 'CLOSED WARNING']);
  await expect.poll(() => seenIn(critical)).toEqual(['OPENED a', 'CLOSED a']);
  // After the closing everything begins again.
  await openProblem(service, 'a', CRITICAL);
  await expect.poll(() => seenIn(critical)).toEqual(['OPENED a', 'CLOSED a', 'OPENED a']);
  await closeProblem(service, 'a');
  await expect.poll(() => seenIn(critical)).toEqual(['OPENED a', 'CLOSED a', 'OPENED a', 'CLOSED a']);
});

test('a problem that comes and goes is sent as open until it has been closed for ten minutes', async () => {
  const [service, receiver] = await Promise.all([startTestService(), startReceiver()]);
  const id = await createChannel(service, { target: { webhook: { url: receiver.url } } });
  for (let number = 0; number < 20; number += 1) {
    await openProblem(service, 'a', { ...WARNING, ...ago(402 - 20 * number) });
    await closeProblem(service, 'a', ago(392 - 20 * number));
  }
  await openProblem(service, 'b');
  const twice = ['OPENED a', 'CLOSED a', 'OPENED a', 'CLOSED a', 'OPENED a', 'OPENED b'];
  await expect.poll(() => seenIn(receiver)).toEqual(twice);
  // A higher severity is sent nevertheless.
  await openProblem(service, 'a', CRITICAL);
  await closeProblem(service, 'a');
  await expect.poll(() => seenIn(receiver)).toEqual([...twice, 'OPENED a']);
  await passed(service);
  // Ten minutes later.
  const { db, changes } = service.storage;
  const { count } = await db.waitingNotice.updateMany({ data: { dueAt: new Date() } });
  expect(count).toBe(1);
  await changes.announce('notification-channel', id);
  await expect.poll(() => seenIn(receiver)).toEqual([...twice, 'OPENED a', 'CLOSED a']);
});

test('a channel that is not active misses no closing of what it has sent, and sends no opening of what has closed', async () => {
  const [service, sending, holding] = await Promise.all([startTestService(), startReceiver(), startReceiver()]);
  const ids = [
    await createChannel(service, { target: { webhook: { url: sending.url } } }),
    await createChannel(service, { rules: { minimumSeconds: 3_600 }, target: { webhook: { url: holding.url } } }),
  ];
  const setActive = async (isActive: boolean) => {
    for (const channelId of ids) await service.graphql(UPDATE, { input: { channelId, isActive } });
  };
  await openProblem(service, 'a');
  await expect.poll(() => seenIn(sending)).toEqual(['OPENED a']);
  await setActive(false);
  await closeProblem(service, 'a');
  await openProblem(service, 'b');
  await closeProblem(service, 'b');
  await passed(service);
  await setActive(true);
  await openProblem(service, 'c');
  await expect.poll(() => seenIn(sending).slice(0, 3)).toEqual(['OPENED a', 'CLOSED a', 'OPENED c']);
  const waiting = await service.storage.db.waitingNotice.findMany({ where: { channelId: ids[1] ?? '' } });
  expect(waiting.map(({ notice }) => JSON.parse(notice).subject.name)).toEqual(['c']);
  expect(seenIn(holding)).toEqual([]);
});

test('a problem from before a channel, or from a time in which it was not active, does not close for it', async () => {
  const [service, receiver] = await Promise.all([startTestService(), startReceiver()]);
  // So that changes are passed to channels.
  await createChannel(service, { target: { webhook: { url: (await startReceiver()).url } } });
  await openProblem(service, 'earlier');
  await openProblem(service, 'severer', WARNING);
  await passed(service);
  const channelId = await createChannel(service, { target: { webhook: { url: receiver.url } } });
  await service.graphql(UPDATE, { input: { channelId, isActive: false } });
  await openProblem(service, 'meanwhile');
  await passed(service);
  await service.graphql(UPDATE, { input: { channelId, isActive: true } });
  for (const name of ['earlier', 'meanwhile']) await closeProblem(service, name);
  await openProblem(service, 'severer', CRITICAL);
  await openProblem(service, 'earlier');
  for (const name of ['severer', 'earlier']) await closeProblem(service, name);
  const inOrder = ['OPENED severer', 'OPENED earlier', 'CLOSED severer', 'CLOSED earlier'];
  await expect.poll(() => seenIn(receiver)).toEqual(inOrder);
});

test('a problem that opened during a silence is sent when it outlasts the silence, and otherwise not at all', async () => {
  const [service, receiver] = await Promise.all([startTestService(), startReceiver()]);
  const id = await createChannel(service, { target: { webhook: { url: receiver.url } } });
  const { projectId, storage } = service;
  await openProblem(service, 'before');
  await expect.poll(() => seenIn(receiver)).toEqual(['OPENED before']);
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const { data } = await service.graphql(SILENCE, { input: { projectId, until, reason: 'maintenance' } });
  await openProblem(service, 'short');
  await service.rest('POST', `/api/projects/${projectId}/brokers`, service.root, {
    name: 'long',
    url: `mqtt://127.0.0.1:${await freePort()}`,
  });
  await opened(service, 'BROKER_UNREACHABLE');
  await passed(service);
  const due = { where: { dueAt: { lte: new Date() } } };
  await expect.poll(() => storage.db.waitingNotice.count(due)).toBe(0);
  await closeProblem(service, 'short');
  await closeProblem(service, 'before');
  await expect.poll(() => seenIn(receiver)).toEqual(['OPENED before', 'CLOSED before']);
  await service.graphql(END, { input: { silenceId: data.silenceProblems.silence.id } });
  // A minute later.
  await storage.db.waitingNotice.updateMany({ data: { dueAt: new Date() } });
  await storage.changes.announce('notification-channel', id);
  await expect.poll(() => seenIn(receiver)).toEqual(['OPENED before', 'CLOSED before', 'OPENED long']);
});

test('a problem that opens again is too short for a channel of closings if it closes within the minimum duration', async () => {
  const [service, receiver] = await Promise.all([startTestService(), startReceiver()]);
  const rules = { changes: 'CLOSED', minimumSeconds: 60 };
  await createChannel(service, { rules, target: { webhook: { url: receiver.url } } });
  await openProblem(service, 'a', ago(120));
  await closeProblem(service, 'a', ago(10));
  await openProblem(service, 'a', ago(5));
  await closeProblem(service, 'a');
  await openProblem(service, 'b', ago(120));
  await closeProblem(service, 'b');
  await expect.poll(() => seenIn(receiver)).toEqual(['CLOSED a', 'CLOSED b']);
});
