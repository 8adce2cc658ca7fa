import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { runCommand } from '../../../src/app/cli/program.ts';
import { hashOf } from '../../../src/domains/audit/audit-chain.ts';
import { swapClusterId } from '../../../src/gateway/cluster-id.ts';
import { bearer, startTestService, type TestService } from '../../support/service.ts';
import { codeOf, eventsOf, FIELDS } from './audited-service.ts';

const ALL = `{ auditEvents(first: 5) { nodes { ${FIELDS} } } }`;
const VERIFY = '{ verifyAudit { isIntact } }';
const inProject = (id: string) =>
  `{ project(id: "${id}") { auditEvents(first: 50) { totalCount nodes { operation projectId } } } }`;
const countIn = (id: string) => `{ project(id: "${id}") { auditEvents { totalCount } } }`;

async function tokenIn(service: TestService, input: string): Promise<string> {
  const { data } = await service.graphql(
    `mutation { createToken(input: { projectId: "${service.projectId}", name: "t", ${input} }) { secret } }`,
  );
  return data.createToken.secret;
}

test('all of it is for root administrators, that of a project for its administrators, and for no token that sees a part', async () => {
  const service = await startTestService();
  const { projectId, url } = service;
  const [admin, editor, stranger] = [
    await service.person('ADMIN'),
    await service.person('EDITOR'),
    await service.person(null),
  ];
  const added = await service.graphql(
    `mutation { addBroker(input: { projectId: "${projectId}", name: "b", url: "mqtt://b.invalid" }) { broker { id } } }`,
  );
  const whole = await tokenIn(service, 'role: ADMIN');
  const restricted = await tokenIn(service, `role: ADMIN, brokerIds: ["${added.data.addBroker.broker.id}"]`);
  await service.graphql('mutation { createProject(input: { name: "Other" }) { project { id } } }');

  const download = async (token: string | null) =>
    (await fetch(`${url}/audit.jsonl`, { headers: bearer(token) })).status;
  const asked = async (token: string | null) => [
    codeOf(await service.graphql(ALL, {}, token)),
    codeOf(await service.graphql(VERIFY, {}, token)),
    codeOf(await service.graphql(inProject(projectId), {}, token)),
    codeOf(await service.graphql(countIn(projectId), {}, token)),
    await download(token),
  ];
  expect(await asked(service.root)).toEqual([null, null, null, null, 200]);
  expect(await asked(admin.token)).toEqual(['NOT_ALLOWED', 'NOT_ALLOWED', null, null, 403]);
  expect(await asked(whole)).toEqual(['NOT_ALLOWED', 'NOT_ALLOWED', null, null, 403]);
  expect(await asked(editor.token)).toEqual(['NOT_ALLOWED', 'NOT_ALLOWED', 'NOT_ALLOWED', 'NOT_ALLOWED', 403]);
  expect(await asked(restricted)).toEqual(['NOT_ALLOWED', 'NOT_ALLOWED', 'NOT_ALLOWED', 'NOT_ALLOWED', 403]);
  expect((await asked(stranger.token)).slice(0, 2)).toEqual(['NOT_ALLOWED', 'NOT_ALLOWED']);
  expect((await asked(null)).filter((code) => code !== 'UNAUTHORIZED')).toEqual([401]);
  expect(await download('bgs_unknown')).toBe(401);
  const { data } = await service.graphql(inProject(projectId), {}, admin.token);
  expect(data.project.auditEvents.totalCount).toBeGreaterThan(3);
  const { nodes } = data.project.auditEvents;
  expect(nodes.every((node: { projectId: string }) => node.projectId === projectId)).toBe(true);
});

test('what is refused in one project is no news in another, whatever else the caller names', async () => {
  const service = await startTestService();
  const add = async (projectId: string, token: string): Promise<string> => {
    const input = { projectId, name: 'b', url: 'mqtt://b.invalid' };
    const ADD = 'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }';
    return (await service.graphql(ADD, { input }, token)).data.addBroker.broker.id;
  };
  const entryId = await add(service.projectId, service.root);
  await service.storage.db.cluster.create({
    data: { id: entryId, name: 'of others', mode: 'DYNSEC', keeper: 'GATEWAY' },
  });
  const { token } = await service.person(null);
  const made = await service.graphql(
    'mutation { createProject(input: { name: "Own" }) { project { id } } }',
    {},
    token,
  );
  const own: string = made.data.createProject.project.id;
  const LEAVE = 'mutation ($input: LeaveClusterInput!) { leaveCluster(input: $input) { cluster { id } } }';
  const input = { clusterId: swapClusterId(entryId), brokerId: await add(own, token), projectId: own };
  expect(codeOf(await service.graphql(LEAVE, { input }, token))).toBe('NOT_FOUND');
  const { data } = await service.graphql(inProject(own), {}, token);
  expect(data.project.auditEvents.nodes.map(({ operation }: { operation: string }) => operation)).toEqual([
    'addBroker',
    'createProject',
  ]);
  const theirs = await service.graphql(inProject(service.projectId));
  expect(theirs.data.project.auditEvents.nodes[0].operation).toBe('leaveCluster');
});

const NAMES = `query ($p: ID!) {
  project(id: $p) { auditEvents(first: 100, orderBy: { field: TIME, order: ASC }) {
    nodes { operation targetKind targetId targetName project { name } broker { name } }
  } }
}`;

test('an entry has the current names of its project, broker and target, and those that it has itself of deleted objects', async () => {
  const service = await startTestService();
  const { projectId } = service;
  const admin = await service.person('ADMIN');
  const run = (mutation: string) => service.graphql(`mutation { ${mutation} }`);
  const { data: added } = await run(
    `addBroker(input: { projectId: "${projectId}", name: "One", url: "mqtt://b.invalid" }) { broker { id } }`,
  );
  const brokerId: string = added.addBroker.broker.id;
  await run(`updateBroker(input: { brokerId: "${brokerId}", name: "Two" }) { broker { id } }`);
  await run(`disconnectClient(input: { brokerId: "${brokerId}", clientId: "pump 7" }) { __typename }`);
  const { data: made } = await run(
    `createToken(input: { projectId: "${projectId}", name: "robot", role: EDITOR }) { token { id } }`,
  );
  await run(
    `setProjectMember(input: { projectId: "${projectId}", email: "${admin.email}", role: ADMIN }) { __typename }`,
  );
  const namesOf = async (token: string) => {
    const { data } = await service.graphql(NAMES, { p: projectId }, token);
    const nodes: Record<string, { name: string } & string>[] = data.project.auditEvents.nodes;
    const wanted = ['addBroker', 'updateBroker', 'disconnectClient', 'createToken', 'setProjectMember'];
    return wanted.map((operation) => {
      const entry = nodes.find((node) => node.operation === operation);
      return [operation, entry?.targetName, entry?.project?.name, entry?.broker?.name];
    });
  };
  const project = (await service.storage.db.project.findUniqueOrThrow({ where: { id: projectId } })).name;
  const expected = [
    ['addBroker', 'Two', project, 'Two'],
    ['updateBroker', 'Two', project, 'Two'],
    ['disconnectClient', 'pump 7', project, 'Two'],
    ['createToken', 'robot', project, undefined],
    ['setProjectMember', project, project, undefined],
  ];
  expect(await namesOf(service.root)).toEqual(expected);
  expect(await namesOf(admin.token)).toEqual(expected);
  await run(`deleteBroker(input: { brokerId: "${brokerId}" }) { deletedBrokerId }`);
  await run(`revokeToken(input: { tokenId: "${made.createToken.token.id}" }) { revokedTokenId }`);
  expect(await namesOf(admin.token)).toEqual([
    ['addBroker', 'One', project, undefined],
    ['updateBroker', 'One', project, undefined],
    ['disconnectClient', 'pump 7', project, undefined],
    ['createToken', 'robot', project, undefined],
    ['setProjectMember', project, project, undefined],
  ]);
});

test('the name of a target is for those who may see the target itself', async () => {
  const service = await startTestService();
  const { projectId, services } = service;
  const [admin, other] = [await service.person('ADMIN'), await service.person(null)];
  const target = (kind: string, id: string) =>
    ({ operation: 'test', result: 'DONE', projectId, target: { kind, id } }) as const;
  const made = await service.graphql(
    'mutation { createProject(input: { name: "Theirs" }) { project { id } } }',
    {},
    other.token,
  );
  const theirs: string = made.data.createProject.project.id;
  const token = await tokenOf(service, theirs);
  for (const [kind, id] of [
    ['user', admin.id],
    ['user', other.id],
    ['project', theirs],
    ['token', token],
  ] as const) {
    await services.audit.record(target(kind, id));
  }
  const namesFor = async (caller: string) => {
    const { data } = await service.graphql(NAMES, { p: projectId }, caller);
    const nodes: { operation: string; targetName: string | null }[] = data.project.auditEvents.nodes;
    return nodes.filter(({ operation }) => operation === 'test').map(({ targetName }) => targetName);
  };
  const reads = vi.spyOn(service.storage.db.user, 'findMany');
  expect(await namesFor(service.root)).toEqual([admin.email, other.email, 'Theirs', 'of theirs']);
  // Both users of the page are read with one query.
  expect(reads).toHaveBeenCalledTimes(1);
  expect(await namesFor(admin.token)).toEqual([admin.email, null, null, null]);
});

async function tokenOf(service: TestService, projectId: string): Promise<string> {
  const { data } = await service.graphql(
    `mutation { createToken(input: { projectId: "${projectId}", name: "of theirs", role: VIEWER }) { token { id } } }`,
  );
  return data.createToken.token.id;
}

test('filters leave what fits, and pages follow each other, the newest first', async () => {
  const service = await startTestService();
  const { projectId } = service;
  const editor = await service.person('EDITOR');
  for (let i = 0; i < 7; i++) {
    await service.graphql(
      `mutation { updateProject(input: { projectId: "${projectId}", description: "number ${i}" }) { project { id } } }`,
    );
  }
  await service.graphql(
    `mutation { updateProject(input: { projectId: "${projectId}", name: "n" }) { project { id } } }`,
    {},
    editor.token,
  );
  const find = async (filter: Record<string, unknown>, page = 'first: 100') => {
    const { data } = await service.graphql(
      `query ($filter: AuditFilter) { auditEvents(filter: $filter, ${page}) { totalCount nodes { sequence after at requestId } pageInfo { endCursor startCursor hasNextPage } } }`,
      { filter },
    );
    return data.auditEvents;
  };
  const updates = await find({ operation: 'updateProject' });
  expect(updates.totalCount).toBe(8);
  const sequences: number[] = updates.nodes.map(({ sequence }: { sequence: number }) => sequence);
  expect(sequences).toEqual([...sequences].sort((a, b) => b - a));
  const counts = async (filter: Record<string, unknown>) =>
    (await find({ operation: 'updateProject', ...filter })).totalCount;
  expect(await counts({ result: 'REFUSED' })).toBe(1);
  expect(await counts({ actorId: editor.id })).toBe(1);
  expect(await counts({ actorKind: 'TOKEN' })).toBe(0);
  expect(await counts({ targetKind: 'project', targetId: projectId, projectId })).toBe(8);
  // What one change made of it is what the next one found.
  expect(await counts({ search: 'number 3' })).toBe(2);
  expect(await counts({ requestId: updates.nodes[0].requestId })).toBe(1);
  expect(await counts({ from: updates.nodes[0].at })).toBeGreaterThanOrEqual(1);
  expect(await counts({ to: updates.nodes[7].at })).toBe(0);
  const paged: number[] = [];
  for (let after = ''; ; ) {
    const page = await find({ operation: 'updateProject' }, `first: 3${after}`);
    paged.push(...page.nodes.map(({ sequence }: { sequence: number }) => sequence));
    if (!page.pageInfo.hasNextPage) break;
    after = `, after: "${page.pageInfo.endCursor}"`;
  }
  expect(paged).toEqual(sequences);
});

test('entries of dry runs are selected or left out, but not those that look like one', async () => {
  const service = await startTestService();
  const record = (operation: string, after: object | null, result: 'DONE' | 'FAILED' = 'DONE') =>
    service.services.audit.record({ operation, after, result });
  const preview = { change: { username: 'previewed' }, dryRun: true };
  await record('createAccount', { change: { username: '"dryRun":true' }, dryRun: false });
  await record('createAccount', preview);
  await record('createAccount', preview, 'FAILED');
  await record('createStream', { query: { dryRun: true } });
  await record('createStream', null);
  const LIST = `query ($filter: AuditFilter) {
    auditEvents(first: 100, filter: $filter) { totalCount nodes { operation after result } }
  }`;
  const find = async (filter: object) => (await service.graphql(LIST, { filter })).data.auditEvents;
  const previews = await find({ isPreview: true });
  expect(previews.nodes).toMatchObject([{ operation: 'createAccount', after: { change: { username: 'previewed' } } }]);
  const all = await find({});
  const others = await find({ isPreview: false });
  expect(others.totalCount).toBe(all.totalCount - 1);
  expect(others.nodes.filter(({ operation }: { operation: string }) => operation === 'createStream').length).toBe(2);
  expect(others.nodes.filter(({ operation }: { operation: string }) => operation === 'createAccount').length).toBe(2);
});

test('an entry of a dry run has its mark, also if its input is too large to be recorded whole', async () => {
  const service = await startTestService({ embeddedBroker: true });
  const { id: brokerId } = await service.storage.db.broker.findFirstOrThrow();
  await expect.poll(() => service.services.runtimes.isConnected(brokerId)).toBe(true);
  const clientIds = Array.from({ length: 200 }, (_, number) => `${number} ${'x'.repeat(500)}`);
  const kick = 'mutation ($input: DisconnectClientsInput!) { disconnectClients(input: $input) { __typename } }';
  await service.graphql(kick, { input: { brokerId, clientIds, dryRun: true } });
  const { data } = await service.graphql('{ auditEvents(first: 1) { nodes { operation after } } }');
  expect(data.auditEvents.nodes).toMatchObject([{ operation: 'disconnectClients', after: { dryRun: true } }]);
  expect(JSON.stringify(data.auditEvents.nodes)).toContain('more');
});

test('a page may be read without its entries: cursors and the total alone', async () => {
  const service = await startTestService();
  await service.graphql('mutation { createProject(input: { name: "p" }) { project { id } } }');
  const { data, errors } = await service.graphql(`{
    auditEvents(first: 1) { totalCount edges { cursor } pageInfo { hasNextPage } }
    project(id: "${service.projectId}") { auditEvents(first: 1) { edges { __typename } } }
  }`);
  expect(errors).toBeUndefined();
  expect(data.auditEvents.edges).toEqual([{ cursor: expect.any(String) }]);
  expect(data.project.auditEvents.edges).toEqual([{ __typename: 'ProjectAuditEventEdge' }]);
});

test('the download and the command write the same verifiable lines, and an earlier hash is found later', async () => {
  const service = await startTestService();
  const { projectId, url } = service;
  // More than a page of either.
  await Promise.all(
    Array.from({ length: 1_050 }, (_, n) =>
      service.services.audit.record({ operation: 'counted', after: { n, text: '"ü"' }, result: 'DONE' }),
    ),
  );
  await service.graphql(
    `mutation { updateProject(input: { projectId: "${projectId}", description: "d" }) { project { id } } }`,
  );
  const response = await fetch(`${url}/audit.jsonl`, { headers: bearer(service.root) });
  const text = await response.text();
  const rows = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const [sequence, hash] = (response.headers.get('x-audit-head') ?? '').split(' ');
  expect(rows.at(-1)).toMatchObject({ sequence: Number(sequence), hash });
  let previousHash = '0'.repeat(64);
  for (const { hash: own, at, ...row } of rows) {
    expect(row.previousHash).toBe(previousHash);
    expect(hashOf({ ...row, at: new Date(at) })).toBe(own);
    previousHash = own;
  }
  const range = await fetch(`${url}/audit.jsonl?from=${rows.at(-1).at}`, { headers: bearer(service.root) });
  expect((await range.text()).trimEnd().split('\n').at(-1)).toBe(text.trimEnd().split('\n').at(-1));
  for (const query of [
    'from=soon',
    'from=1',
    'to=2026-02-30T00:00:00Z',
    'form=2026-01-01',
    'from=2026-01-01&from=2026-01-02',
  ]) {
    expect((await fetch(`${url}/audit.jsonl?${query}`, { headers: bearer(service.root) })).status, query).toBe(400);
  }
  expect((await fetch(`${url}/audit.jsonl`, { method: 'POST', headers: bearer(service.root) })).status).toBe(405);

  const { dataDir, databaseUrl } = service.config;
  const run = async (...args: string[]) => {
    let [out, err] = ['', ''];
    const code = await runCommand(['audit', ...args], {
      env: { DATA_DIR: dataDir, ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }) },
      readInput: async () => '',
      out: (said) => {
        out += said;
      },
      err: (said) => {
        err += said;
      },
      isTerminal: false,
      stop: new AbortController().signal,
      onBug: () => undefined,
    });
    return { code, out, err };
  };
  const exported = await run('export');
  const parsedLines = (said: string) =>
    said
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  expect(parsedLines(exported.out)).toEqual(rows);
  expect(exported.err).toContain(hash);
  expect(await run('export', '--from', 'yesterday')).toMatchObject({
    code: 1,
    err: expect.stringContaining('--from: is not a time'),
  });
  expect((await run('export', '--from', '2999-01-01')).out).toBe('');
  const file = join(dataDir, 'export.jsonl');
  expect((await run('export', '--output', file)).out).toBe('');
  expect(readFileSync(file, 'utf8')).toBe(exported.out);

  expect(await run('verify')).toMatchObject({
    code: 0,
    out: expect.stringContaining(`All ${rows.length} entries are unchanged.`),
  });
  expect((await run('verify', '--expect', String(hash))).code).toBe(0);
  expect(await run('verify', '--expect', 'f'.repeat(64))).toMatchObject({
    code: 1,
    out: expect.stringContaining('not in the chain'),
  });
  await service.storage.db.auditEntry.update({ where: { sequence: 5 }, data: { after: '{}' } });
  const broken = await run('verify', '--json');
  expect(broken.code).toBe(1);
  expect(JSON.parse(broken.out)).toMatchObject({ isIntact: false, problems: [{ sequence: 5 }] });
  // Without a service, too.
  await service.close();
  expect((await run('verify')).code).toBe(1);
  expect(parsedLines((await run('export')).out)).toHaveLength(rows.length);
});

test('a download ends when the rights of its reader end', async () => {
  const service = await startTestService();
  const person = await service.person(null);
  await service.storage.db.user.update({ where: { id: person.id }, data: { isRoot: true } });
  await service.storage.changes.announce('user', person.id);
  const long = 'x'.repeat(900);
  const records = Array.from({ length: 3_000 }, () =>
    service.services.audit.record({ operation: 'counted', after: Array(10).fill(long), result: 'DONE' }),
  );
  await Promise.all(records);
  const response = await fetch(`${service.url}/audit.jsonl`, { headers: bearer(person.token) });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  // Some is read, much of it is not: the sockets between hold less than all.
  await reader.read();
  await service.storage.db.user.update({ where: { id: person.id }, data: { isRoot: false } });
  await service.storage.changes.announce('user', person.id);
  const readAll = async () => {
    for (;;) if ((await reader.read()).done) return;
  };
  await expect(readAll()).rejects.toThrow();
  // Which is no attempt.
  await service.services.audit.head();
  expect(await eventsOf(service, { operation: 'downloadAudit' })).toEqual([]);
});

test('entries are listed by time in both directions, page by page, and selected by code and name of the caller', async () => {
  const service = await startTestService();
  const { projectId } = service;
  const { token, email } = await service.person('ADMIN');
  for (const name of ['a', '', 'b', 'c']) {
    await service.graphql(
      'mutation ($input: UpdateProjectInput!) { updateProject(input: $input) { project { id } } }',
      { input: { projectId, name } },
      token,
    );
  }
  const LIST = `query ($id: ID!, $filter: AuditFilter, $orderBy: AuditOrder, $first: Int, $after: String, $last: Int, $before: String) {
    project(id: $id) {
      auditEvents(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
        totalCount nodes { sequence code actorName } pageInfo { hasNextPage startCursor endCursor }
      }
    }
  }`;
  const list = async (variables: object) => {
    const { data, errors } = await service.graphql(LIST, { id: projectId, ...variables }, token);
    if (errors) throw new Error(JSON.stringify(errors));
    const { nodes, ...rest } = data.project.auditEvents;
    return { ...rest, nodes, sequences: nodes.map(({ sequence }: { sequence: number }) => sequence) };
  };
  const filter = { operation: 'updateProject', actorName: email };
  const newest = await list({ filter });
  const oldest = await list({ filter, orderBy: { field: 'TIME', order: 'ASC' } });
  expect(newest.totalCount).toBe(4);
  expect(oldest.sequences).toEqual([...newest.sequences].reverse());
  expect(oldest.sequences).toEqual([...oldest.sequences].sort((a: number, b: number) => a - b));
  for (const [order, { sequences }] of [['ASC', oldest] as const, ['DESC', newest] as const]) {
    const query = { filter, orderBy: { field: 'TIME', order } };
    const first = await list({ ...query, first: 3 });
    expect([first.sequences, first.pageInfo.hasNextPage]).toEqual([sequences.slice(0, 3), true]);
    const next = await list({ ...query, first: 3, after: first.pageInfo.endCursor });
    expect([next.sequences, next.pageInfo.hasNextPage]).toEqual([sequences.slice(3), false]);
    expect((await list({ ...query, last: 2, before: next.pageInfo.startCursor })).sequences).toEqual(
      sequences.slice(1, 3),
    );
    expect((await list({ ...query, last: 1 })).sequences).toEqual(sequences.slice(3));
  }
  const invalid = await list({ filter: { ...filter, code: 'INVALID' } });
  expect(invalid.nodes).toEqual([{ sequence: oldest.sequences[1], code: 'INVALID', actorName: email }]);
  expect((await list({ filter: { ...filter, actorName: 'nobody@example.com' } })).totalCount).toBe(0);
});
