import fc from 'fast-check';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { schema } from '../../../src/app/schema.ts';
import { targetOf } from '../../../src/domains/audit/audit-target.ts';
import { bearer, PASSWORD, ROOT, startTestService } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { recordStatements } from '../../support/statements.ts';
import { runs } from '../../support/suite.ts';
import { accessWorld } from '../access-control/access-service.ts';
import { codeOf, eventsOf, leftBy } from './audited-service.ts';

const running = shared(() => startTestService());

const LOGIN = 'mutation ($input: LoginInput!) { login(input: $input) { token } }';

test('an entry has the actor, the transport, the previous values and the input, without secrets', async () => {
  const service = await running();
  const { projectId, root } = service;
  const admin = await service.person('ADMIN');
  const rootUser = await service.storage.db.user.findUniqueOrThrow({ where: { email: ROOT.email } });
  let brokerId = '';
  let tokenId = '';
  const events = await leftBy(service, async () => {
    const post = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': 'my-request', ...bearer(root) },
      body: JSON.stringify({
        query: `mutation { updateProject(input: { projectId: "${projectId}", description: "new", hasStrictRoles: true }) { project { id } } }`,
      }),
    });
    expect(post.status).toBe(200);
    const added = await service.rest('POST', `/api/projects/${projectId}/brokers`, admin.token, {
      name: 'One',
      url: 'mqtt://one.invalid',
      username: 'me',
      password: 'hidden-password',
    });
    brokerId = added.body.id;
    const made = await service.graphql(
      `mutation { createToken(input: { projectId: "${projectId}", name: "robot", role: EDITOR }) { token { id } secret } }`,
      {},
      admin.token,
    );
    tokenId = made.data.createToken.token.id;
    await service.graphql(
      `mutation { updateBroker(input: { brokerId: "${brokerId}", name: "Two", password: "hidden-again" }) { broker { id } } }`,
      {},
      made.data.createToken.secret,
    );
    await service.graphql(
      `mutation { setProjectMember(input: { projectId: "${projectId}", email: "${admin.email}", role: VIEWER }) { member { role } } }`,
    );
    await service.graphql(
      `mutation { resetUserPassword(input: { email: "${admin.email}", password: "hidden-third" }) { user { id } } }`,
    );
    await service.graphql(`mutation { deleteBroker(input: { brokerId: "${brokerId}" }) { deletedBrokerId } }`);
    await service.graphql(`mutation { deleteUser(input: { userId: "${admin.id}" }) { deletedUserId } }`);
    // A secret where its id belongs.
    const secret = made.data.createToken.secret;
    await service.graphql(`mutation { revokeToken(input: { tokenId: "${secret}" }) { revokedTokenId } }`);
  });
  const by = { actorKind: 'USER', actorId: rootUser.id, actorName: ROOT.email, actorIssuer: null, via: 'GRAPHQL' };
  const byAdmin = { ...by, actorId: admin.id, actorName: admin.email };
  const done = { result: 'DONE', code: null, projectId };
  expect(events).toMatchObject([
    {
      ...by,
      ...done,
      operation: 'updateProject',
      requestId: 'my-request',
      targetKind: 'project',
      targetId: projectId,
      before: { description: '', hasStrictRoles: false },
      after: { description: 'new', hasStrictRoles: true },
    },
    {
      ...byAdmin,
      ...done,
      via: 'REST',
      operation: 'addBroker',
      targetKind: 'broker',
      targetId: brokerId,
      brokerId,
      before: null,
      after: { name: 'One', username: 'me', password: '***' },
    },
    {
      ...byAdmin,
      ...done,
      operation: 'createToken',
      targetKind: 'token',
      targetId: tokenId,
      after: { role: 'EDITOR' },
    },
    {
      ...done,
      actorKind: 'TOKEN',
      actorId: tokenId,
      actorName: 'robot',
      actorIssuer: admin.email,
      operation: 'updateBroker',
      brokerId,
      before: { name: 'One' },
      after: { name: 'Two', password: '***' },
    },
    { ...by, ...done, operation: 'setProjectMember', before: { role: 'ADMIN' }, after: { role: 'VIEWER' } },
    { ...by, ...done, operation: 'resetUserPassword', projectId: null, targetKind: 'user', targetId: admin.id },
    { ...by, ...done, operation: 'deleteBroker', targetId: brokerId, before: { name: 'Two', sealedPassword: '***' } },
    {
      ...by,
      ...done,
      operation: 'deleteUser',
      projectId: null,
      targetId: admin.id,
      before: { passwordHash: '***', email: admin.email },
    },
    { ...by, operation: 'revokeToken', result: 'FAILED', targetId: '***' },
  ]);
  expect(JSON.stringify(await service.storage.db.auditEntry.findMany())).not.toMatch(/hidden-|bgp_|argon2/);
  // A deleted user remains in the entries.
  expect((await eventsOf(service, { actorId: admin.id })).length).toBe(2);
});

test('a change of access control has the previous values, read when it was planned', async () => {
  const { service, graph, brokerId } = await accessWorld('the embedded broker');
  const run = (mutation: string) => graph(`mutation ($b: ID!) { ${mutation} }`);
  const change = (name: string, values: string, rest = '') =>
    run(`${name}(input: { brokerId: $b, change: { ${values} }${rest} }) { outcome }`);
  const events = await leftBy(service, async () => {
    await change('createAccessRole', 'roleName: "sensor"');
    await change('createAccount', 'username: "meter", textName: "Old", password: "hidden-one"');
    await change('updateAccount', 'username: "meter", textName: "New", enabled: false, password: "hidden-two"');
    await change('setAccountPassword', 'username: "meter", password: "hidden-three"');
    await change('addAccountRole', 'username: "meter", roleName: "sensor", priority: 3');
    const rule = (allow: boolean) =>
      `roleName: "sensor", acl: { aclType: PUBLISH_CLIENT_SEND, topic: "plant/#", allow: ${allow} }`;
    await change('putAclRule', rule(true));
    await change('putAclRule', rule(false), ', dryRun: true');
    await change('setDefaultAcl', 'subscribe: true');
    await change('deleteAccount', 'username: "meter"');
  });
  expect(events).toMatchObject(events.map(() => ({ brokerId, result: 'DONE' })));
  const acl = { aclType: 'publishClientSend', topic: 'plant/#', allow: true, priority: 0 };
  expect(events.map(({ operation, before }) => [operation, before])).toEqual([
    ['createAccessRole', null],
    ['createAccount', null],
    ['updateAccount', { textName: 'Old', enabled: true }],
    ['setAccountPassword', null],
    ['addAccountRole', { roles: [] }],
    ['putAclRule', null],
    ['putAclRule', { acl }],
    ['setDefaultAcl', { subscribe: false }],
    [
      'deleteAccount',
      {
        clientId: null,
        textName: 'New',
        textDescription: null,
        enabled: false,
        roles: [{ roleName: 'sensor', priority: 3 }],
        groups: [],
      },
    ],
  ]);
  expect(JSON.stringify(await service.storage.db.auditEntry.findMany())).not.toMatch(/hidden-/);
});

test('refused and permitted operations each leave an entry', async () => {
  const service = await running();
  const { projectId } = service;
  const [viewer, stranger] = [await service.person('VIEWER'), await service.person(null)];
  const UPDATE = `mutation { updateProject(input: { projectId: "${projectId}", name: "Other" }) { project { id } } }`;
  const events = await leftBy(service, async () => {
    expect(codeOf(await service.graphql(UPDATE, {}, null))).toBe('UNAUTHORIZED');
    expect(codeOf(await service.graphql(UPDATE, {}, viewer.token))).toBe('NOT_ALLOWED');
    expect(codeOf(await service.graphql(UPDATE, {}, stranger.token))).toBe('NOT_FOUND');
    expect(codeOf(await service.graphql(UPDATE))).toBe(null);
    expect(
      codeOf(
        await service.graphql(
          'mutation { updateProject(input: { projectId: "prj_none", name: "x" }) { project { id } } }',
        ),
      ),
    ).toBe('NOT_FOUND');
    const path = `/api/projects/${projectId}/brokers`;
    expect((await service.rest('POST', path, null, { name: 'x' })).status).toBe(401);
    expect((await service.rest('POST', path, stranger.token, { name: 'x' })).status).toBe(404);
    expect((await service.rest('DELETE', `/api/users/${stranger.id}`, viewer.token)).status).toBe(403);
    await service.graphql(LOGIN, { input: { email: viewer.email, password: 'hidden-wrong' } }, null);
    await service.graphql(LOGIN, { input: { email: 'hidden-typed', password: 'hidden-wrong' } }, null);
    await service.graphql(LOGIN, { input: { email: viewer.email, password: PASSWORD } }, null);
  });
  const [update, refused] = [{ operation: 'updateProject', projectId, targetId: projectId }, { result: 'REFUSED' }];
  const add = { ...refused, operation: 'addBroker', via: 'REST', projectId, targetKind: 'broker' };
  expect(events).toMatchObject([
    { ...update, ...refused, code: 'UNAUTHORIZED', actorKind: 'NOBODY', actorId: null, before: null },
    { ...update, ...refused, code: 'NOT_ALLOWED', actorId: viewer.id },
    { ...update, ...refused, code: 'NOT_FOUND', actorId: stranger.id },
    { ...update, result: 'DONE', actorName: ROOT.email },
    { operation: 'updateProject', projectId: null, targetId: 'prj_none', result: 'FAILED', code: 'NOT_FOUND' },
    { ...add, code: 'UNAUTHORIZED', actorKind: 'NOBODY' },
    { ...add, code: 'NOT_FOUND', actorId: stranger.id },
    {
      ...refused,
      operation: 'deleteUser',
      code: 'NOT_ALLOWED',
      via: 'REST',
      targetKind: 'user',
      targetId: stranger.id,
      before: { email: stranger.email, passwordHash: '***' },
      after: { userId: stranger.id },
    },
    {
      operation: 'login',
      ...refused,
      code: 'UNAUTHORIZED',
      actorKind: 'NOBODY',
      targetKind: 'user',
      targetId: viewer.id,
      after: { email: '***', password: '***' },
    },
    { operation: 'login', ...refused, targetId: null, after: { email: '***', password: '***' } },
    {
      operation: 'login',
      result: 'DONE',
      actorKind: 'USER',
      actorId: viewer.id,
      actorName: viewer.email,
      targetKind: 'user',
      targetId: viewer.id,
    },
  ]);
  expect(events.every(({ address }) => address !== '')).toBe(true);
});

test('input of unknown callers is stored in little space, and a removed rule is recorded in its project', async () => {
  const service = await running();
  const { projectId } = service;
  const config = Object.fromEntries(Array.from({ length: 110 }, (_, n) => [`name${n}`, 'x'.repeat(500)]));
  const events = await leftBy(service, async () => {
    const SEND =
      'mutation ($config: JSON!) { updateBridgeConfig(input: { brokerId: "x", bridgeKey: "y", config: $config }) { __typename } }';
    expect(codeOf(await service.graphql(SEND, { config }, null))).toBe('UNAUTHORIZED');
    expect(codeOf(await service.graphql(SEND, { config }))).toBe('NOT_FOUND');
    const { data } = await service.graphql(
      `mutation { createSignInRules(input: { projectId: "${projectId}", rules: [{ provider: SSO, pattern: "ops", role: ADMIN }] }) { rules { id } } }`,
    );
    const [{ id }] = data.createSignInRules.rules;
    await service.graphql(`mutation { deleteSignInRule(input: { ruleId: "${id}" }) { deletedRuleId } }`);
  });
  const [nobody, known, , removed] = events;
  expect(JSON.stringify(nobody?.after).length).toBeLessThan(4_000);
  expect(JSON.stringify(known?.after).length).toBeLessThan(20_000);
  expect(removed).toMatchObject({
    operation: 'deleteSignInRule',
    projectId,
    targetKind: 'signInRule',
    before: { pattern: 'ops', role: 'ADMIN' },
  });
});

test('each mutation of a request has its entry, in the order in which they ran; what was not run has none', async () => {
  const service = await running();
  const events = await leftBy(service, async () => {
    await service.graphql(`mutation {
      a: createProject(input: { name: "A" }) { project { id } }
      b: deleteProject(input: { projectId: "prj_none" }) { deletedProjectId }
      c: createProject(input: { name: "C" }) { project { id } }
    }`);
    await service.graphql('mutation { createProject(input: { nme: "x" }) { project { id } } }');
    await service.graphql('mutation ($name: String!) { createProject(input: { name: $name }) { project { id } } }');
    await service.graphql('mutation { __typename }');
  });
  // The second field is not nullable, so the whole response is an error. The executor may run the third one or not.
  expect(events.slice(0, 2)).toMatchObject([
    { operation: 'createProject', result: 'DONE', after: { name: 'A' } },
    { operation: 'deleteProject', result: 'FAILED', code: 'NOT_FOUND' },
  ]);
  const projects = await service.storage.db.project.findMany({ where: { name: { in: ['A', 'C'] } } });
  expect(
    events
      .filter(({ operation }) => operation === 'createProject')
      .map(({ targetId }) => targetId)
      .sort(),
  ).toEqual(projects.map(({ id }) => id).sort());
});

test('unknown tokens and refusals of unknown callers are recorded as bursts', async () => {
  const service = await startTestService();
  const NAMELESS = 'mutation { logout { isLoggedOut } }';
  const events = await leftBy(service, async () => {
    for (let i = 0; i < 30; i++) await service.graphql(NAMELESS, {}, `bgs_${'x'.repeat(43)}`);
    for (let i = 0; i < 30; i++) await service.graphql(NAMELESS, {}, null);
  });
  expect(events.filter(({ operation }) => operation === 'authenticate')).toMatchObject([
    { result: 'REFUSED', code: 'UNAUTHORIZED', actorKind: 'NOBODY', after: null },
  ]);
  expect(events.filter(({ operation }) => operation === 'logout').length).toBe(20);
  const { dataDir, databaseUrl } = service.config;
  await service.close();
  const again = await startTestService({
    dataDir,
    ...(databaseUrl === undefined ? {} : { env: { DATABASE_URL: databaseUrl } }),
  });
  const told = await eventsOf(again);
  expect(told.filter(({ after }) => typeof after?.count === 'number')).toMatchObject([
    { operation: 'logout', after: { count: 10 } },
    { operation: 'authenticate', after: { count: 29 } },
  ]);
  expect((await again.services.audit.verify()).isIntact).toBe(true);
});

test('the next start reports an audit that was emptied or rolled back, once, by an entry', async () => {
  let service = await startTestService();
  const { db } = service.storage;
  const { dataDir, databaseUrl } = service.config;
  const again = async () => {
    await service.close();
    const errors: string[] = [];
    service = await startTestService({
      dataDir,
      log: pino({ level: 'error' }, { write: (line) => void errors.push(JSON.parse(line).msg) }),
      ...(databaseUrl === undefined ? {} : { env: { DATABASE_URL: databaseUrl } }),
    });
    return errors;
  };
  const told = () => eventsOf(service, { operation: 'noticeLostAuditEvents' });
  const mark = await db.auditMark.findUniqueOrThrow({ where: { name: 'head' } });
  for (let n = 0; n < 3; n += 1) await service.services.audit.record({ operation: 'counted', result: 'DONE' });
  expect(await again()).toEqual([]);
  expect(await told()).toEqual([]);
  expect((await service.services.audit.verify()).isIntact).toBe(true);

  // As from a backup.
  await service.storage.db.auditEntry.deleteMany({ where: { sequence: { gt: mark.sequence } } });
  await service.storage.db.auditMark.update({ where: { name: 'head' }, data: mark });
  expect(await service.services.audit.verify()).toMatchObject({
    isIntact: false,
    problems: [{ sequence: mark.sequence + 3, reason: expect.stringContaining('emptied or rolled back') }],
  });
  expect(await again()).toEqual([expect.stringContaining('entries of the audit are missing')]);
  expect(await told()).toMatchObject([{ actorKind: 'SERVICE', after: { sequence: mark.sequence + 3 } }]);
  expect((await service.services.audit.verify()).isIntact).toBe(false);
  expect(await again()).toEqual([]);
  expect((await service.services.audit.verify()).isIntact).toBe(true);

  // All of it, and of a length that it had once.
  await service.storage.db.auditEntry.deleteMany();
  await service.storage.db.auditMark.deleteMany();
  expect(await again()).toEqual([expect.stringContaining('entries of the audit are missing')]);
  expect((await told()).length).toBe(1);
});

test('whatever is asked in whatever order, each mutation leaves one entry with its result', async () => {
  const service = await running();
  const { projectId } = service;
  const [editor, stranger] = [await service.person('EDITOR'), await service.person(null)];
  const tokens = { root: service.root, editor: editor.token, stranger: stranger.token };
  const operations = {
    createProject: '(input: { name: "P" }) { project { id } }',
    updateProject: `(input: { projectId: "${projectId}", description: "d" }) { project { id } }`,
    createOrganization: '(input: { name: "" }) { organization { id } }',
    addBroker: `(input: { projectId: "${projectId}", name: "b", url: "mqtt://b.invalid" }) { broker { id } }`,
    deleteBroker: '(input: { brokerId: "brk_none" }) { deletedBrokerId }',
    createUser: '(input: { email: "not an address" }) { user { id } }',
  };
  const step = fc.record({
    who: fc.constantFrom(...(Object.keys(tokens) as (keyof typeof tokens)[])),
    what: fc.constantFrom(...(Object.keys(operations) as (keyof typeof operations)[])),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      const codes: Record<string, number> = {};
      const count = (what: string, code: string | null) => {
        codes[`${what} ${code}`] = (codes[`${what} ${code}`] ?? 0) + 1;
      };
      const events = await leftBy(service, () =>
        Promise.all(
          steps.map(async ({ who, what }) =>
            count(what, codeOf(await service.graphql(`mutation { ${what}${operations[what]} }`, {}, tokens[who]))),
          ),
        ),
      );
      expect(events.length).toBe(steps.length);
      for (const { operation, result, code } of events) {
        expect([operation, code, result === 'DONE']).toEqual([operation, code, code === null]);
        codes[`${operation} ${code}`] = (codes[`${operation} ${code}`] ?? 0) - 1;
      }
      expect(Object.values(codes).every((left) => left === 0)).toBe(true);
    }),
    { numRuns: runs(12) },
  );
  expect((await service.services.audit.verify()).isIntact).toBe(true);
});

test('changes by the command line have the actor OPERATOR', async () => {
  const service = await running();
  const { callOperatorSocket } = await import('../../../src/app/operator/operator-socket.ts');
  const events = await leftBy(service, () =>
    callOperatorSocket(
      service.config.dataDir,
      'mutation { createProject(input: { name: "O" }) { project { id } } }',
      {},
    ),
  );
  // A root administrator by rights, and no person who could own a project.
  expect(events).toMatchObject([{ operation: 'createProject', actorKind: 'OPERATOR', via: 'OPERATOR' }]);
});

test('while entries cannot be written changes continue, and are recorded as soon as writing works', async () => {
  const service = await startTestService();
  const { db } = service.storage;
  await service.services.audit.record({ operation: 'before', result: 'DONE' });
  const { sequence } = await service.services.audit.head();
  const events = await leftBy(service, async () => {
    await db.$executeRawUnsafe('ALTER TABLE "AuditEntry" RENAME TO "Elsewhere"');
    expect(
      codeOf(await service.graphql('mutation { createProject(input: { name: "Kept" }) { project { id } } }')),
    ).toBe(null);
    await db.$executeRawUnsafe('ALTER TABLE "Elsewhere" RENAME TO "AuditEntry"');
    await expect.poll(() => db.auditEntry.count({ where: { sequence: { gt: sequence } } })).toBe(1);
  });
  expect(events).toMatchObject([{ operation: 'createProject', result: 'DONE', after: { name: 'Kept' } }]);
});

test('a mutation costs few queries more', async () => {
  const service = await running();
  const statements = recordStatements();
  await service.graphql(
    `mutation { updateProject(input: { projectId: "${service.projectId}", description: "x" }) { project { id } } }`,
  );
  // One transaction locks the end of the chain, inserts the entry and moves the end.
  const audit = statements().filter((text) => /"?Audit(Entry|Mark)/.test(text));
  expect(audit.map((text) => /^\s*(\w+)/.exec(text)?.[1])).toEqual(['UPDATE', 'INSERT', 'UPDATE']);
});

test('each mutation of the graph has a target, also the next one', () => {
  const WITHOUT: readonly string[] = [
    'login',
    'logout',
    'changePassword',
    'completeSignIn',
    'acceptInvitation',
    'beginSecondFactor',
    'confirmSecondFactor',
    'removeSecondFactor',
    'endOtherSessions',
    'rotateSecrets',
    'drainProcess',
  ];
  const fields = Object.values(schema.getMutationType()?.getFields() ?? {});
  const missing = fields.filter(({ name, args }) => {
    const type = args[0]?.type as { ofType?: { getFields?(): Record<string, unknown> } } | undefined;
    const names = Object.keys(type?.ofType?.getFields?.() ?? {});
    return targetOf(name, Object.fromEntries(names.map((field) => [field, 'x']))) === null;
  });
  expect(missing.map(({ name }) => name).filter((name) => !WITHOUT.includes(name))).toEqual([]);
});
