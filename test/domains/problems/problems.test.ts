import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/database.ts';
import { startMosquitto } from '../../support/mosquitto.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { subscribe } from '../../support/subscription.ts';
import { addBroker } from '../messages/message-world.ts';
import { closed, opened, problemsOf, SLOW } from './problem-world.ts';

const WATCH = `subscription ($id: ID!, $after: SafeInt) { problems(projectId: $id, after: $after) {
  kind sequence partsLeft problems { id kind closedAt isSilenced acknowledgement { by note } } removed } }`;
const ACKNOWLEDGE = `mutation ($input: AcknowledgeProblemInput!) {
  acknowledgeProblem(input: $input) { problem { acknowledgement { by note } } } }`;
const UNACKNOWLEDGE = `mutation ($input: UnacknowledgeProblemInput!) {
  unacknowledgeProblem(input: $input) { problem { acknowledgement { by } } } }`;
const SILENCE = `mutation ($input: SilenceProblemsInput!) {
  silenceProblems(input: $input) { silence { id reason filter createdBy } } }`;
const END = 'mutation ($input: EndSilenceInput!) { endSilence(input: $input) { endedSilenceId } }';
const COUNTS = `query ($projectId: ID!, $brokerId: ID!) {
  problemCounts { critical warning notice silenced }
  project(id: $projectId) { problemCounts { critical silenced } problems { totalCount }
    problemSilences { id } broker(id: $brokerId) { problemCounts { critical } problems { nodes { kind } } } } }`;

const codeOf = async (answer: ReturnType<TestService['graphql']>) => (await answer).errors?.[0]?.extensions.code;
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

test('a killed broker opens one problem that survives a restart of the service, and closes when the broker is back', async () => {
  const dataDir = temporaryFolder();
  const mosquitto = await startMosquitto();
  const service = await startTestService({ dataDir });
  const { projectId } = service;
  const brokerId = await addBroker(service, mosquitto.url);
  const live = subscribe(service, service.root, WATCH, { id: projectId });
  await live.until(({ problems }) => problems.kind === 'SNAPSHOT');
  await mosquitto.kill();

  const { problems: event } = await live.until(({ problems }) =>
    problems.problems.some((one: { kind: string }) => one.kind === 'BROKER_UNREACHABLE'),
  );
  const problem = await opened(service, 'BROKER_UNREACHABLE');
  expect(problem).toMatchObject({
    id: event.problems[0].id,
    severity: 'CRITICAL',
    subjectId: brokerId,
    subject: { id: brokerId },
    broker: { id: brokerId },
    project: { id: projectId },
    closedAt: null,
    count: 1,
    acknowledgement: null,
    isSilenced: false,
  });
  expect(problem.whatWouldHelp).toContain('Check that the broker runs');
  const detailFor = async (token?: string) =>
    (await problemsOf(service, { kinds: ['BROKER_UNREACHABLE'] }, token))[0].detail;
  await expect.poll(() => detailFor(), SLOW).toMatch(/^Connection refused/);
  expect(await detailFor((await service.person('EDITOR')).token)).toContain(
    'administrators of the project see the reason',
  );
  const { data } = await service.graphql(COUNTS, { projectId, brokerId });
  expect(data.project.broker.problemCounts.critical).toBe(1);
  expect([data.project.problemCounts.critical, data.problemCounts.critical]).toEqual([1, 1]);

  const input = { problemId: problem.id, note: 'on it' };
  await service.graphql(ACKNOWLEDGE, { input });
  await live.until(({ problems }) => problems.problems[0]?.acknowledgement?.note === 'on it');
  await service.close();

  const again = await startTestService({ dataDir });
  const [same] = await problemsOf(again, { kinds: ['BROKER_UNREACHABLE'] });
  expect(same).toMatchObject({ id: problem.id, openedAt: problem.openedAt, acknowledgement: { note: 'on it' } });
  const resumed = subscribe(again, again.root, WATCH, { id: projectId });
  await resumed.until(({ problems }) => problems.kind === 'SNAPSHOT' && problems.problems[0].id === problem.id);
  await mosquitto.start();
  const end = await resumed.until(({ problems }) => problems.problems[0]?.closedAt != null);
  expect(end.problems.problems[0].id).toBe(problem.id);
  await closed(again, 'BROKER_UNREACHABLE');
  const [past] = await problemsOf(again, { kinds: ['BROKER_UNREACHABLE'], isOpen: false });
  expect(past).toMatchObject({ id: problem.id, count: 1 });
  const within = async (from: string | null, to: string | null) =>
    (await problemsOf(again, { kinds: ['BROKER_UNREACHABLE'], isOpen: null, from, to })).map(({ id }) => id);
  // It opened before this time, and closed then.
  expect(await within(past.closedAt, null)).toEqual([problem.id]);
  expect(await within(null, past.closedAt)).toEqual([problem.id]);
  expect(await within(null, past.openedAt)).toEqual([]);
  expect(await within(new Date(Date.parse(past.closedAt) + 1).toISOString(), null)).toEqual([]);
  const changes = await again.services.problems.changesSince(0);
  const ofProblem = changes.filter((one) => one.problem.id === problem.id);
  expect(ofProblem.map(({ change }) => change)).toEqual(['OPENED', 'CLOSED']);
  expect(await again.services.problems.lastSequence()).toBe(changes.at(-1)?.sequence);
  expect(await codeOf(again.graphql(ACKNOWLEDGE, { input }))).toBe('INVALID');
  await again.graphql('mutation ($id: ID!) { deleteBroker(input: { brokerId: $id }) { __typename } }', {
    id: brokerId,
  });
  expect(await problemsOf(again, { brokerIds: [brokerId] })).toEqual([]);
  const [stored] = await problemsOf(again, { brokerIds: [brokerId], kinds: ['BROKER_UNREACHABLE'], isOpen: false });
  expect(stored).toMatchObject({ id: problem.id, broker: null, subject: null, brokerName: 'm' });
});

test('who may change a broker acknowledges its problems, and a restricted token sees only its own', async () => {
  const service = await startTestService();
  const { projectId } = service;
  const addDead = async () => {
    const path = `/api/projects/${projectId}/brokers`;
    return (await service.rest('POST', path, service.root, { name: 'm', url: 'mqtt://127.0.0.1:1' })).body.id as string;
  };
  const [own, other] = [await addDead(), await addDead()];
  await expect.poll(async () => (await problemsOf(service, { kinds: ['BROKER_UNREACHABLE'] })).length, SLOW).toBe(2);
  const problems = await problemsOf(service, { kinds: ['BROKER_UNREACHABLE'] });
  const ofBroker = (id: string) => problems.find(({ broker }) => broker.id === id).id as string;
  const { data } = await service.graphql(
    `mutation ($input: CreateTokenInput!) { createToken(input: $input) { token { secret } } }`,
    { input: { projectId, name: 'one', role: 'EDITOR', brokerIds: [own] } },
  );
  const token = data.createToken.token.secret as string;
  const [viewer, editor, stranger] = [
    await service.person('VIEWER'),
    await service.person('EDITOR'),
    await service.person(null),
  ];

  expect((await problemsOf(service, {}, token)).map(({ broker }) => broker.id)).toEqual([own]);
  expect(await problemsOf(service, {}, stranger.token)).toEqual([]);
  expect(await problemsOf(service, {}, viewer.token)).toHaveLength(2);
  const live = subscribe(service, token, WATCH, { id: projectId });
  const { problems: first } = await live.until(() => true);
  expect(first.problems.map(({ id }: { id: string }) => id)).toEqual([ofBroker(own)]);

  const acknowledge = (id: string, by: string) =>
    codeOf(service.graphql(ACKNOWLEDGE, { input: { problemId: id, note: 'seen' } }, by));
  expect(await acknowledge(ofBroker(own), viewer.token)).toBe('NOT_ALLOWED');
  expect(await acknowledge(ofBroker(own), stranger.token)).toBe('NOT_FOUND');
  expect(await acknowledge(ofBroker(other), token)).toBe('NOT_FOUND');
  expect(await acknowledge(ofBroker(own), token)).toBeUndefined();
  expect(await acknowledge(ofBroker(other), editor.token)).toBeUndefined();
  const undo = await service.graphql(UNACKNOWLEDGE, { input: { problemId: ofBroker(other) } }, editor.token);
  expect(undo.data.unacknowledgeProblem.problem.acknowledgement).toBeNull();
  const node = 'query ($id: ID!) { node(id: $id) { __typename } }';
  expect((await service.graphql(node, { id: ofBroker(own) }, token)).data.node.__typename).toBe('Problem');
  expect((await service.graphql(node, { id: ofBroker(other) }, token)).data.node).toBeNull();

  const may = `query ($projectId: ID!) {
    project(id: $projectId) { viewerCanSilenceProblems viewerCanSetProblemThresholds } }`;
  for (const [by, isAllowed] of [
    [viewer.token, false],
    [editor.token, true],
  ] as const) {
    const { project } = (await service.graphql(may, { projectId }, by)).data;
    expect(project).toEqual({ viewerCanSilenceProblems: isAllowed, viewerCanSetProblemThresholds: isAllowed });
  }
  const silence = (by: string, more = {}) =>
    service.graphql(SILENCE, { input: { projectId, until: inAnHour(), reason: 'maintenance', ...more } }, by);
  for (const by of [viewer.token, token]) expect(await codeOf(silence(by))).toBe('NOT_ALLOWED');
  expect(await codeOf(silence(editor.token, { until: '2020-01-01T00:00:00Z' }))).toBe('INVALID');
  const made = await silence(editor.token, { filter: { brokerIds: [other] } });
  expect(made.data.silenceProblems.silence).toMatchObject({ reason: 'maintenance', filter: { brokerIds: [other] } });
  expect(await problemsOf(service, { isSilenced: true })).toMatchObject([{ broker: { id: other }, isSilenced: true }]);
  const counts = (await service.graphql(COUNTS, { projectId, brokerId: own })).data.project.problemCounts;
  expect(counts).toEqual({ critical: 1, silenced: 1 });
  const { id } = made.data.silenceProblems.silence;
  expect(await codeOf(service.graphql(END, { input: { silenceId: id } }, viewer.token))).toBe('NOT_ALLOWED');
  expect((await service.graphql(END, { input: { silenceId: id } }, editor.token)).data.endSilence).toBeTruthy();
  expect(await problemsOf(service, { isSilenced: true })).toEqual([]);
  // One that is over is deleted before the next is added.
  const { db, changes } = service.storage;
  const short = (await silence(editor.token)).data.silenceProblems.silence.id;
  await db.problemSilence.update({ where: { id: short }, data: { until: new Date(0) } });
  await changes.announce('problem-silence', short);
  await expect.poll(() => problemsOf(service, { isSilenced: true })).toEqual([]);
  expect(await codeOf(silence(editor.token))).toBeUndefined();
  expect(await db.problemSilence.findMany({ select: { id: true } })).not.toContainEqual({ id: short });

  const filters = [{ brokerIds: Array(1_001).fill(own) }, { kinds: Array(1_001).fill('BROKER_UNREACHABLE') }];
  for (const filter of filters) {
    const list = 'query ($filter: ProblemFilter) { problems(filter: $filter) { totalCount } }';
    expect(await codeOf(service.graphql(list, { filter }))).toBe('INVALID');
  }
});

test('thresholds have defaults, and administrators and editors of a project change them', async () => {
  const service = await startTestService();
  const { projectId } = service;
  const read = 'query ($id: ID!) { project(id: $id) { problemThresholds { certificateDays refusalsPerMinute } } }';
  const set = `mutation ($input: SetProblemThresholdsInput!) {
    setProblemThresholds(input: $input) { project { problemThresholds { certificateDays refusalsPerMinute } } } }`;
  const usual = { certificateDays: 14, refusalsPerMinute: 60 };
  expect((await service.graphql(read, { id: projectId })).data.project.problemThresholds).toEqual(usual);
  const viewer = await service.person('VIEWER');
  const change = (values: object, by?: string) => service.graphql(set, { input: { projectId, ...values } }, by);
  expect(await codeOf(change({ certificateDays: 30 }, viewer.token))).toBe('NOT_ALLOWED');
  expect(await codeOf(change({ certificateDays: -1 }))).toBe('INVALID');
  const changed = await change({ certificateDays: 30 });
  expect(changed.data.setProblemThresholds.project.problemThresholds).toEqual({ ...usual, certificateDays: 30 });
  const reset = await change({ certificateDays: null });
  expect(reset.data.setProblemThresholds.project.problemThresholds).toEqual(usual);
});
