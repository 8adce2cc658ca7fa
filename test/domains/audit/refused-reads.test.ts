import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import type { CountedAttempts, RefusedAttempt } from '../../../src/domains/audit/refused-attempts.ts';
import { RefusedAttempts } from '../../../src/domains/audit/refused-attempts.ts';
import { ServiceError } from '../../../src/platform/errors.ts';
import { createAuthority } from '../../support/certificates.ts';
import { openStream, TRANSPORTS } from '../../support/event-stream.ts';
import { bearer, startTestService } from '../../support/service.ts';
import { codeOf, eventsOf, leftBy } from './audited-service.ts';

const LONG = 'x'.repeat(900);

afterEach(() => {
  vi.useRealTimers();
});

test('each read that is refused to the caller leaves an entry, over each transport; permitted reads and unknown ids leave none', async () => {
  const service = await startTestService();
  const { projectId, url } = service;
  const [viewer, stranger] = [await service.person('VIEWER'), await service.person(null)];
  const ids: string[] = [];
  for (const name of ['one', 'two']) {
    const added = await service.rest('POST', `/api/projects/${projectId}/brokers`, service.root, {
      name,
      url: 'mqtt://127.0.0.1:9',
    });
    ids.push(added.body.id);
  }
  const [one = '', two = ''] = ids;
  const { data } = await service.graphql(
    `mutation { createToken(input: { projectId: "${projectId}", name: "robot", role: ADMIN, brokerIds: ["${one}"] }) { secret token { id } } }`,
  );
  const { secret, token } = data.createToken;
  const made = await service.graphql(
    `mutation ($cert: String!) {
      createOrganization(input: { name: "ACME" }) { organization { id } }
      createCertificate(input: { projectId: "${projectId}", filename: "ca.pem", cert: $cert }) { certificate { id } }
    }`,
    { cert: createAuthority().cert },
  );
  const organizationId: string = made.data.createOrganization.organization.id;
  const certificateId: string = made.data.createCertificate.certificate.id;
  const robot = { actorKind: 'TOKEN', actorId: token.id, actorName: 'robot' };
  const byViewer = { actorKind: 'USER', actorId: viewer.id, actorName: viewer.email };
  const byStranger = { actorKind: 'USER', actorId: stranger.id };
  const ask = async (query: string, as: string | null, code: string | null) =>
    expect([query, codeOf(await service.graphql(query, {}, as))]).toEqual([query, code]);
  const get = async (path: string, as: string | null, status: number) =>
    expect([path, (await fetch(`${url}${path}`, { headers: bearer(as) })).status]).toEqual([path, status]);
  const follow = async (transport: (typeof TRANSPORTS)[number], as: string | null, brokerId: string) =>
    (
      await openStream(transport, `${url}/graphql`, as, {
        query: `subscription { messages(brokerId: "${brokerId}", filter: "#") { __typename } }`,
      }).ended
    ).errors;
  const inProject = { projectId, targetKind: 'project', targetId: projectId };
  const onTwo = { projectId, brokerId: two, targetKind: 'broker', targetId: two };
  const [graph, rest] = [{ via: 'GRAPHQL' }, { via: 'REST' }];

  const attempts: readonly [() => Promise<unknown>, object | null][] = [
    // Root fields, by their own names.
    [
      // Arguments are kept without secrets, and not all of them.
      () =>
        ask(
          `{ mine: auditEvents(filter: { actorId: "password=hunter2-hunter2", operation: "${LONG}", requestId: "${LONG}", targetKind: "${LONG}", targetId: "${LONG}", brokerId: "${LONG}" }) { totalCount } }`,
          viewer.token,
          'NOT_ALLOWED',
        ),
      { ...byViewer, ...graph, operation: 'auditEvents', code: 'NOT_ALLOWED' },
    ],
    [() => ask('{ auditEvents { totalCount } }', service.root, null), null],
    [
      () => ask(`{ project(id: "${projectId}") { id } }`, stranger.token, 'NOT_FOUND'),
      { ...byStranger, ...inProject, operation: 'project', code: 'NOT_FOUND', after: { id: projectId } },
    ],
    [() => ask('{ project(id: "prj_none") { id } }', stranger.token, 'NOT_FOUND'), null],
    [() => ask(`{ project(id: "${projectId}") { id } }`, viewer.token, null), null],
    [
      () => ask(`{ broker(id: "${two}") { id } }`, secret, 'NOT_FOUND'),
      { ...robot, ...onTwo, operation: 'broker', code: 'NOT_FOUND' },
    ],
    [() => ask(`{ broker(id: "${one}") { id } }`, secret, null), null],
    [
      () => ask(`{ exportAccessControl(brokerId: "${two}") }`, secret, 'NOT_FOUND'),
      { ...robot, ...onTwo, operation: 'exportAccessControl' },
    ],
    [
      () => ask(`{ project(id: "${projectId}") { id } }`, null, 'UNAUTHORIZED'),
      { actorKind: 'NOBODY', actorId: null, ...inProject, operation: 'project', code: 'UNAUTHORIZED' },
    ],
    [() => ask('{ viewer { __typename } }', viewer.token, null), null],
    [
      () => ask('{ __schema { queryType { name } } }', null, 'UNAUTHORIZED'),
      { actorKind: 'NOBODY', operation: '__schema', code: 'UNAUTHORIZED' },
    ],
    [() => ask('{ __schema { queryType { name } } }', viewer.token, null), null],
    // Null is its way to say that there is nothing.
    [
      () => ask(`{ node(id: "${two}") { id } }`, secret, null),
      { ...robot, ...onTwo, operation: 'node', code: 'NOT_FOUND' },
    ],
    [
      () => ask(`{ node(id: "${viewer.id}") { id } }`, stranger.token, null),
      { ...byStranger, operation: 'node', targetKind: 'user', targetId: viewer.id },
    ],
    [
      () => ask(`{ node(id: "${token.id}") { id } }`, stranger.token, null),
      { ...byStranger, operation: 'node', targetKind: 'token', targetId: token.id },
    ],
    [
      () => ask(`{ node(id: "${organizationId}") { id } }`, stranger.token, null),
      { ...byStranger, operation: 'node', targetKind: 'organization', targetId: organizationId },
    ],
    [
      () => ask(`{ node(id: "${certificateId}") { id } }`, stranger.token, null),
      { ...byStranger, operation: 'node', projectId, targetKind: 'certificate', targetId: certificateId },
    ],
    [() => ask('{ node(id: "brk_none") { id } }', secret, null), null],
    [() => ask(`{ node(id: "${one}") { id } }`, secret, null), null],
    // Fields that ask for more than what led to them.
    [
      () => ask(`{ project(id: "${projectId}") { name auditEvents { totalCount } } }`, viewer.token, 'NOT_ALLOWED'),
      { ...byViewer, ...inProject, operation: 'Project.auditEvents', code: 'NOT_ALLOWED' },
    ],
    [
      () => ask(`{ project(id: "${projectId}") { members { totalCount } } }`, secret, 'NOT_ALLOWED'),
      { ...robot, ...inProject, operation: 'Project.members' },
    ],
    [
      () => ask(`{ project(id: "${projectId}") { broker(id: "${two}") { id } } }`, secret, 'NOT_FOUND'),
      { ...robot, ...onTwo, operation: 'Project.broker' },
    ],
    [() => ask(`{ project(id: "${projectId}") { broker(id: "${one}") { id } } }`, secret, null), null],
    [
      () =>
        ask(`{ project(id: "${projectId}") { certificates(brokerId: "${two}") { totalCount } } }`, secret, 'NOT_FOUND'),
      { ...robot, ...onTwo, operation: 'Project.certificates' },
    ],
    // REST: by its own check, and by that of the operation.
    [
      () => get(`/api/projects/${projectId}/brokers`, stranger.token, 404),
      { ...byStranger, ...rest, ...inProject, operation: 'project', code: 'NOT_FOUND' },
    ],
    [() => get(`/api/projects/prj_none/brokers`, stranger.token, 404), null],
    [
      () => get(`/api/projects/${projectId}/settings`, viewer.token, 403),
      { ...byViewer, ...rest, ...inProject, operation: 'project', code: 'NOT_ALLOWED' },
    ],
    [
      () => get(`/api/projects/${projectId}/brokers/${two}`, secret, 404),
      { ...robot, ...rest, ...onTwo, operation: 'project', code: 'NOT_FOUND' },
    ],
    [() => get('/api/users', viewer.token, 403), { ...byViewer, ...rest, operation: 'users', code: 'NOT_ALLOWED' }],
    [() => get(`/api/projects/${projectId}/brokers`, viewer.token, 200), null],
    // Downloads.
    [
      () => get('/audit.jsonl', viewer.token, 403),
      { ...byViewer, ...rest, operation: 'downloadAudit', code: 'NOT_ALLOWED' },
    ],
    [() => get('/audit.jsonl', null, 401), { actorKind: 'NOBODY', operation: 'downloadAudit', code: 'UNAUTHORIZED' }],
    [() => get('/audit.jsonl', service.root, 200), null],
    [
      () => get('/audit.jsonl', `bgs_${'x'.repeat(43)}`, 401),
      { actorKind: 'NOBODY', ...rest, operation: 'authenticate', code: 'UNAUTHORIZED', after: null },
    ],
    // Subscriptions.
    ...TRANSPORTS.map((transport): [() => Promise<unknown>, object | null] => [
      async () => expect(await follow(transport, secret, two)).toEqual(['NOT_FOUND']),
      transport === 'WebSocket' ? { ...robot, ...onTwo, ...graph, operation: 'messages', code: 'NOT_FOUND' } : null,
    ]),
    [
      async () => expect(await follow('SSE', viewer.token, one)).toEqual(['NOT_ALLOWED']),
      { ...byViewer, brokerId: one, operation: 'messages', code: 'NOT_ALLOWED', after: { filter: '#' } },
    ],
  ];
  const events = await leftBy(service, async () => {
    for (const [attempt] of attempts) await attempt();
  });
  const expected = attempts.flatMap(([, entry]) =>
    entry === null ? [] : [{ result: 'REFUSED', before: null, ...entry }],
  );
  expect(events.map(({ operation }) => operation)).toEqual(
    expected.map((entry) => (entry as { operation?: string }).operation),
  );
  expect(events).toMatchObject(expected);
  expect(events.every(({ address, requestId }) => address !== '' && requestId !== '')).toBe(true);
  const kept = JSON.stringify(events[0]?.after);
  expect(kept).toContain('password=***');
  expect(kept.length).toBeLessThan(4_000);
  // It is noted at once, and written soon.
  const { dataDir } = service.config;
  const caller = { viewer: null, address: '192.0.2.1', requestId: 'noted' };
  service.services.audit.refusedRead(
    { operation: 'project', input: {} },
    caller,
    new ServiceError('NOT_ALLOWED', 'No'),
  );
  expect(readFileSync(join(dataDir, 'audit-pending.jsonl'), 'utf8')).toContain('"requestId":"noted"');
  // Who administers the project reads who tried.
  const { data: seen } = await service.graphql(
    `{ project(id: "${projectId}") { auditEvents(filter: { result: REFUSED, actorId: "${token.id}" }) { nodes { operation } } } }`,
  );
  expect(seen.project.auditEvents.nodes.length).toBeGreaterThan(4);
});

test('what is refused again and again is counted by its number', async () => {
  const service = await startTestService();
  const { projectId } = service;
  const [viewer, other] = [await service.person('VIEWER'), await service.person('VIEWER')];
  const EVENTS = `query Polled { project(id: "${projectId}") { auditEvents { totalCount } } }`;
  const events = await leftBy(service, async () => {
    for (let i = 0; i < 30; i++) await service.graphql(EVENTS, {}, viewer.token);
    for (let i = 0; i < 30; i++) await service.graphql(`{ user(id: "usr_${i}") { id } }`, {}, viewer.token);
    for (let i = 0; i < 30; i++) await service.graphql(`{ user(id: "usr_${i}") { id } }`, {}, null);
    // The same read from the same address is counted for another caller.
    await service.graphql(EVENTS, {}, other.token);
    // What is read in vain hides no guess.
    await service.graphql('mutation { login(input: { email: "a", password: "b" }) { token } }', {}, null);
  });
  const named = (operation: string) => events.filter((event) => event.operation === operation);
  expect(named('Project.auditEvents').map(({ actorId }) => actorId)).toEqual([viewer.id, other.id]);
  expect(named('user').map(({ actorKind }) => actorKind)).toEqual([
    ...Array(19).fill('USER'),
    ...Array(20).fill('NOBODY'),
  ]);
  expect(named('login').length).toBe(1);
  const { dataDir, databaseUrl } = service.config;
  await service.close();
  const again = await startTestService({
    dataDir,
    ...(databaseUrl === undefined ? {} : { env: { DATABASE_URL: databaseUrl } }),
  });
  expect((await eventsOf(again)).filter(({ after }) => typeof after?.count === 'number')).toMatchObject([
    { operation: 'user', actorKind: 'NOBODY', after: { count: 10 }, targetId: null },
    {
      operation: 'Project.auditEvents',
      actorId: viewer.id,
      targetId: projectId,
      projectId,
      code: 'NOT_ALLOWED',
      after: { count: 40, operations: { 'Project.auditEvents': 29, user: 11 } },
    },
  ]);
});

test('many callers who are not known do not fill it, nor is one who is known lost among them', () => {
  const counted: CountedAttempts[] = [];
  const refusedAttempts = new RefusedAttempts((entry) => void counted.push(entry));
  const nobody = { kind: 'NOBODY', id: null, name: null, issuer: null } as const;
  const attempt: RefusedAttempt = {
    operation: 'project',
    code: 'UNAUTHORIZED',
    actor: nobody,
    address: '::1',
    via: 'GRAPHQL',
    target: null,
    projectId: null,
    brokerId: null,
  };
  const known: RefusedAttempt = { ...attempt, actor: { ...nobody, kind: 'USER', id: 'usr_1' } };
  expect(refusedAttempts.isSingle(known, { key: 'ses_1', subject: 'project' })).toBe(true);
  let entries = 0;
  for (let n = 0; n < 20_000; n += 1) {
    if (refusedAttempts.isSingle({ ...attempt, address: `${n}` }, { key: `${n}`, subject: `${n}` })) entries += 1;
  }
  // So many at once, and as many more as the seconds that it takes.
  expect(entries + counted.length).toBeLessThan(1_000);
  expect(refusedAttempts.isSingle(known, { key: 'ses_1', subject: 'project' })).toBe(false);
  expect(refusedAttempts.isSingle(known, { key: 'ses_1', subject: 'broker' })).toBe(true);
  refusedAttempts.close();
  const sum = counted.reduce((all, { attempt: { actor }, count }) => all + (actor.kind === 'NOBODY' ? count : 0), 0);
  expect(entries + sum).toBe(20_000);
  expect(counted.filter(({ attempt: { actor } }) => actor.kind === 'USER')).toMatchObject([{ count: 1 }]);
});

test('a long series is recorded each hour, and starts again', () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  const counted: CountedAttempts[] = [];
  const refusedAttempts = new RefusedAttempts((entry) => void counted.push(entry));
  const actor = { kind: 'USER', id: 'usr_1', name: null, issuer: null } as const;
  const place = { target: null, projectId: null, brokerId: null };
  const attempt: RefusedAttempt = {
    operation: 'project',
    code: 'NOT_ALLOWED',
    actor,
    address: '::1',
    via: 'GRAPHQL',
    ...place,
  };
  let entries = 0;
  for (let second = 0; second < 2 * 3_600; second += 30) {
    if (refusedAttempts.isSingle(attempt, { key: 'ses_1', subject: 'project' })) entries += 1;
    vi.advanceTimersByTime(30_000);
  }
  expect(entries).toBe(2);
  expect(counted.map(({ count, seconds }) => [count, seconds])).toEqual([[119, 3_600]]);
  refusedAttempts.close();
  expect(counted[1]?.count).toBe(119);
});
