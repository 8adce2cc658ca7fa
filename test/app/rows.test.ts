import { expect, test } from 'vitest';
import { ANYTHING } from '../../src/platform/storage/changes/changes.ts';
import { createSelfSigned } from '../support/certificates.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { recordStatements } from '../support/statements.ts';

const FEW = 10;
const MANY = 1_000;
const MOST_CLUSTERS = 30;

const SECRET_COLUMNS =
  /passwordHash|totpSecret|totpStep|sealed|previousHash"|codeHash|"claims"|"document"|"writing"|"missingPasswords"/;

const idOf = (prefix: string, n: number) => `${prefix}_${String(n).padStart(26, '0')}`;

/** Adds a project with `count` rows of each kind, and as many users with a session each. */
async function fill({ storage: { db } }: TestService, count: number, from: number): Promise<string> {
  const projectId = idOf('prj', from);
  const all = Array.from({ length: count }, (_, n) => n + from);
  const each = <Row>(row: (n: number) => Row): Row[] => all.map(row);
  const { cert } = createSelfSigned();
  const [userId = '', createdAt] = [idOf('usr', from), new Date()];
  await db.user.createMany({ data: each((n) => ({ id: idOf('usr', n), email: `u${n}@example.com`, name: `u${n}` })) });
  await db.project.create({ data: { id: projectId, name: 'p', ownerUserId: userId } });
  await db.projectMember.createMany({
    data: each((n) => ({ projectId, userId: idOf('usr', n), role: 'VIEWER' as const })),
  });
  await db.identity.createMany({ data: each((n) => ({ provider: 'sso', subject: `${n}`, userId: idOf('usr', n) })) });
  const session = { userId, createdAt, lastUsedAt: createdAt, expiresAt: new Date(Date.now() + 3_600_000) };
  await db.session.createMany({ data: each((n) => ({ id: idOf('ses', n), tokenHash: `s${n}`, ...session })) });
  const rule = { projectId, provider: 'sso', claimPath: 'groups', pattern: 'x', role: 'VIEWER' } as const;
  await db.signInRule.createMany({ data: each((n) => ({ id: idOf('rul', n), ...rule })) });
  const broker = { projectId, type: 'ON_PREMISE_SETUP', metricsEnabled: false } as const;
  // Few, because the service follows each of them.
  const few = all.slice(0, MOST_CLUSTERS);
  for (const prefix of ['brk_e', 'brk_n']) {
    await db.broker.createMany({ data: few.map((n) => ({ id: idOf(prefix, n), name: `b${n}`, ...broker })) });
  }
  const token = { projectId, role: 'VIEWER', type: 'RESTRICTED', issuer: 'a test' } as const;
  await db.projectToken.createMany({
    data: each((n) => ({ id: idOf('tok', n), name: `t${n}`, tokenHash: `h${n}`, ...token })),
  });
  await db.projectTokenBroker.createMany({
    data: each((n) => ({ tokenId: idOf('tok', n), brokerId: idOf('brk_e', n) })),
  });
  const certificate = { projectId, name: 'c', cert, sealedKey: 'v1.' };
  await db.certificate.createMany({
    data: each((n) => ({ id: idOf('crt', n), filename: `c${n}.pem`, ...certificate })),
  });
  await db.certificateDeployment.createMany({
    data: each((n) => ({
      certificateId: idOf('crt', n),
      brokerId: idOf('brk_e', from),
      port: 1_000 + n - from,
      deployedAt: createdAt,
    })),
  });
  const cluster = { mode: 'DYNSEC', keeper: 'GATEWAY' } as const;
  await db.cluster.createMany({ data: few.map((n) => ({ id: idOf('brk_e', n), name: `k${n}`, ...cluster })) });
  const node = { nodeId: 1, address: '10.0.0.1', port: 1_883 };
  await db.clusterNode.createMany({
    data: few.map((n) => ({ clusterId: idOf('brk_e', n), brokerId: idOf('brk_n', n), name: `n${n}`, ...node })),
  });
  return projectId;
}

const LISTS: Readonly<Record<string, string>> = {
  tokens: '{ project(id: $id) { tokens { id name hash role validUntil brokerIds } tokenCount } }',
  signInRules: '{ project(id: $id) { signInRules { id pattern provider } } }',
  members: '{ project(id: $id) { members(first: 100) { totalCount nodes { role user { email } } } } }',
  certificates:
    '{ project(id: $id) { certificates(first: 1000) { totalCount nodes { filename subject hasPrivateKey deployments { port } } } } }',
  deployments:
    '{ project(id: $id) { certificates(first: 1000) { nodes { brokers { name } deployments { deployedAt } } } } }',
  clusters: '{ project(id: $id) { clusters(first: 1000) { totalCount nodes { name mode nodes { name port } } } } }',
  sessions: '{ userSessions(userId: $userId) { lastUsedAt isCurrent } }',
};

test('a page needs as many statements for 1,000 rows as for 10, and reads no secrets', async () => {
  const service = await startTestService();
  const projects = [await fill(service, FEW, 0), await fill(service, MANY, 100_000)];
  for (const kind of ['project', 'broker', 'certificate', 'cluster']) {
    await service.storage.changes.announce(kind, ANYTHING);
  }
  await expect.poll(() => service.services.clusters.visibleIn(projects[1] ?? '', null).length).toBe(MOST_CLUSTERS);
  const statements = recordStatements();
  const read = async (list: string, id: string | undefined) => {
    const variables = { id, userId: id?.replace('prj', 'usr') };
    const [name] = list === 'sessions' ? ['$userId'] : ['$id'];
    statements();
    const { data, errors } = await service.graphql(`query (${name}: ID!) ${LISTS[list]}`, variables);
    expect(errors, list).toBeUndefined();
    return { rows: JSON.stringify(data).split('},{').length, found: statements().filter((sql) => /^SELECT/.test(sql)) };
  };
  // The cache of certificates reads its rows in slices. Until then the database states which have a private key.
  await expect.poll(async () => (await read('certificates', projects[1])).found.length).toBeLessThan(FEW);
  for (const list of Object.keys(LISTS)) {
    await read(list, projects[0]);
    const few = await read(list, projects[0]);
    const many = await read(list, projects[1]);
    expect(few.rows, list).toBeGreaterThanOrEqual(FEW);
    expect(many.rows, list).toBeGreaterThanOrEqual(list === 'clusters' ? MOST_CLUSTERS : 100);
    expect(many.found.length, `${list}: ${many.found.join('\n').slice(0, 3_000)}`).toBe(few.found.length);
    for (const sql of many.found) expect(sql, list).not.toMatch(SECRET_COLUMNS);
  }
});

test('a list of projects reads a relation of all of them at once', async () => {
  const service = await startTestService();
  await fill(service, 1, 0);
  const { db, changes } = service.storage;
  const add = async (count: number, from: number) => {
    const data = Array.from({ length: count }, (_, n) => ({ id: idOf('prj_more', from + n), name: 'p' }));
    await db.project.createMany({ data: data.map((row) => ({ ...row, ownerUserId: idOf('usr', 0) })) });
    await changes.announce('project', ANYTHING);
  };
  const statements = recordStatements();
  const read = async (count: number) => {
    statements();
    const { data, errors } = await service.graphql(
      '{ projects(first: 100) { nodes { name tokenCount tokens { name } signInRules { id } members { totalCount } } } }',
    );
    expect(errors).toBeUndefined();
    expect(data.projects.nodes).toHaveLength(count);
    return statements().filter((sql) => /^SELECT/.test(sql));
  };
  await add(1, 0);
  await expect.poll(() => service.services.projects.exists(idOf('prj_more', 0))).toBe(true);
  await read(3);
  const few = await read(3);
  await add(90, 1);
  await expect.poll(() => service.services.projects.exists(idOf('prj_more', 90))).toBe(true);
  const many = await read(93);
  expect(many.length, many.join('\n').slice(0, 3_000)).toBe(few.length);
});
