import { expect, test } from 'vitest';
import { END_OF_RIGHTS, type EventStream, openStream, TRANSPORTS, type Transport } from '../../support/event-stream.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { sharedDatabase, startTestService, type TestService } from '../../support/service.ts';
import { eventsOf } from './audited-service.ts';

const FIELDS = 'kind sequence missed auditEvents { id sequence operation projectId result after hash }';
const ALL = `subscription ($filter: AuditFilter, $after: SafeInt) { auditEvents(filter: $filter, after: $after) { ${FIELDS} } }`;
const OF_PROJECT = `subscription ($p: ID!, $filter: AuditFilter, $after: SafeInt) {
  auditEvents: projectAuditEvents(projectId: $p, filter: $filter, after: $after) { ${FIELDS} }
}`;

interface Event {
  readonly kind: string;
  readonly sequence: number;
  readonly missed: number | null;
  readonly auditEvents: readonly { readonly sequence: number; readonly operation: string; readonly after: unknown }[];
}

const watch = (
  transport: Transport,
  { url }: TestService,
  token: string,
  variables: Record<string, unknown> = {},
): EventStream => openStream(transport, `${url}/graphql`, token, { query: variables.p ? OF_PROJECT : ALL, variables });

const next = async (stream: EventStream): Promise<Event> => (await stream.until(() => true)).auditEvents;

/** Reads entries until there are as many. */
async function entries(stream: EventStream, count: number): Promise<Event['auditEvents'][number][]> {
  const read: Event['auditEvents'][number][] = [];
  while (read.length < count) read.push(...(await next(stream)).auditEvents);
  return read;
}

const createProject = (service: TestService, name: string) =>
  service.graphql('mutation ($n: String!) { createProject(input: { name: $n }) { project { id } } }', { n: name });
const names = (list: Event['auditEvents']) => list.map(({ after }) => (after as { name: string }).name);

test.each(TRANSPORTS)('entries are sent over %s as they are written, and a filter selects some', async (transport) => {
  const service = await startTestService();
  const all = watch(transport, service, service.root);
  const filtered = watch(transport, service, service.root, { filter: { search: 'wanted' } });
  const { sequence: head } = await service.services.audit.head();
  for (const stream of [all, filtered]) {
    expect(await next(stream)).toMatchObject({ kind: 'SNAPSHOT', sequence: head, auditEvents: [] });
  }
  for (const name of ['one', 'wanted', 'two']) await createProject(service, name);
  const sent = await entries(all, 3);
  expect(names(sent)).toEqual(['one', 'wanted', 'two']);
  expect(sent.map(({ sequence }) => sequence)).toEqual([head + 1, head + 2, head + 3]);
  expect(sent.toReversed()).toMatchObject((await eventsOf(service)).slice(0, 3).map(({ id }) => ({ id })));
  expect(names(await entries(filtered, 1))).toEqual(['wanted']);
});

test.each(TRANSPORTS)('a subscription over %s resumes exactly after any entry', async (transport) => {
  const service = await startTestService();
  const { sequence: start } = await service.services.audit.head();
  const written: number[] = [];
  const write = async () => {
    const n = written.length;
    written.push(n);
    await service.services.audit.record({ operation: `operation${n % 2}`, after: { n }, result: 'DONE' });
  };
  for (let n = 0; n < 130; n++) await write();
  const numbers = (list: Event['auditEvents']) => list.map(({ after }) => (after as { n: number }).n);
  for (const [skipped, filter] of [
    [0, null],
    [57, null],
    [100, { operation: 'operation1' }],
  ] as const) {
    const stream = watch(transport, service, service.root, { after: start + skipped, filter });
    expect(await next(stream)).toMatchObject({ kind: 'RESUMED', sequence: start + skipped });
    const expected = () => written.slice(skipped).filter((n) => filter === null || n % 2 === 1);
    const before = expected();
    expect(numbers(await entries(stream, before.length))).toEqual(before);
    for (let n = 0; n < 2; n++) await write();
    const later = expected().slice(before.length);
    expect(numbers(await entries(stream, later.length))).toEqual(later);
  }
  const { sequence } = await service.services.audit.head();
  const late = watch(transport, service, service.root, { after: sequence + 1 });
  expect(await next(late)).toMatchObject({ kind: 'SNAPSHOT', sequence });
});

test('entries that were deleted are reported as missed, and the stored ones follow', async () => {
  const service = await startTestService();
  for (let n = 0; n < 5; n++) await service.services.audit.record({ operation: 'tick', result: 'DONE' });
  const { sequence } = await service.services.audit.head();
  await service.storage.db.auditEntry.deleteMany({ where: { sequence: { lte: sequence - 2 } } });
  const stream = watch('SSE', service, service.root, { after: 0 });
  expect((await next(stream)).kind).toBe('RESUMED');
  expect(await next(stream)).toMatchObject({ kind: 'GAP', missed: sequence - 2, sequence: sequence - 2 });
  expect((await entries(stream, 2)).map((entry) => entry.sequence)).toEqual([sequence - 1, sequence]);
});

test.each(TRANSPORTS)('an administrator sees one project over %s, until the role ends', async (transport) => {
  const service = await startTestService();
  const admin = await service.person('ADMIN');
  const variables = { p: service.projectId };
  const stream = watch(transport, service, admin.token, variables);
  expect((await next(stream)).kind).toBe('SNAPSHOT');
  await createProject(service, 'another project');
  const rename = 'mutation ($p: ID!) { updateProject(input: { projectId: $p, name: "mine" }) { project { id } } }';
  await service.graphql(rename, variables);
  expect(names(await entries(stream, 1))).toEqual(['mine']);

  const lower = `mutation ($input: SetProjectMemberInput!) { setProjectMember(input: $input) { member { role } } }`;
  const input = { projectId: service.projectId, email: admin.email, role: 'EDITOR' };
  expect((await service.graphql(lower, { input })).errors).toBeUndefined();
  const { close, errors } = await stream.ended;
  expect([close, errors]).toEqual([END_OF_RIGHTS[transport], ['NOT_ALLOWED']]);
  for (const refused of [variables, {}]) {
    const again = watch(transport, service, admin.token, refused);
    expect((await again.ended).errors).toEqual(['NOT_ALLOWED']);
  }
});

const postgres = usePostgres();

test.skipIf(!postgres.available)(
  `entries of other processes are sent, each once${postgres.available ? '' : `: ${UNAVAILABLE}`}`,
  async () => {
    const env = { DATABASE_URL: await sharedDatabase(postgres), SECRET_KEY: '5e'.repeat(32) };
    const one = await startTestService({ env });
    const two = await startTestService({ env });
    const filter = { operation: 'createProject' };
    const stream = watch('WebSocket', two, two.root, { filter });
    const { sequence } = await next(stream);
    const all = Array.from({ length: 20 }, (_, n) => `project ${n}`);
    await Promise.all(all.map((name, n) => createProject(n % 2 === 0 ? one : two, name)));
    const sent = await entries(stream, 20);
    expect(names(sent).sort()).toEqual(all.sort());
    // Another process resumes from the same numbers.
    const resumed = watch('SSE', one, one.root, { filter, after: sequence });
    expect((await next(resumed)).kind).toBe('RESUMED');
    expect(await entries(resumed, 20)).toEqual(sent);
  },
);
