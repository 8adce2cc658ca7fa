import fc from 'fast-check';
import { getNamedType, isInterfaceType, isObjectType } from 'graphql';
import { expect, test } from 'vitest';
import { schema } from '../../src/app/schema.ts';
import { ANYTHING } from '../../src/platform/storage/changes/changes.ts';
import type { Database } from '../../src/platform/storage/database.ts';
import { type GraphqlAnswer, startTestService, type TestService } from '../support/service.ts';

/** Lists of rows: how one is selected, with `$PAGE` for the arguments, and its rows. */
interface RowsUnderTest {
  readonly select: string;
  readonly path: readonly string[];
  readonly node: string;
  readonly orders?: readonly string[];
  /** The kinds of the announced changes, for lists of a cache. */
  readonly kinds?: readonly string[];
  readonly add: (db: Database, n: number) => Promise<unknown>;
  readonly remove: (db: Database, n: number) => Promise<unknown>;
}

const [OWNER, PROJECT, ORGANIZATION, CHANNEL] = ['usr_owner', 'prj_lists', 'org_lists', 'ntc_lists'];
/** Of a notification. */
const CONTENT = '{"changes":[]}';
const id = (prefix: string, n: number) => `${prefix}_${n}`;
const text = (n: number) => 'aAbBä€'.charAt(n % 6).repeat(1 + (n % 2));
/** Few different times, so that rows with equal ones are sorted by their keys. */
const at = (n: number) => new Date(1_700_000_000_000 + (n % 3));

const inProject = (list: string) => `project(id: "${PROJECT}") { ${list} }`;
const broker = (n: number) =>
  ({
    id: id('brk_list', n),
    projectId: PROJECT,
    type: 'ON_PREMISE_SETUP',
    metricsEnabled: false,
    name: text(n),
  }) as const;
const member = { role: 'VIEWER' } as const;

const user = {
  add: (db: Database, n: number) =>
    db.user.create({ data: { id: id('usr', n), email: `${text(n)}${n}@example.com`, name: text(n) } }),
  remove: (db: Database, n: number) => db.user.delete({ where: { id: id('usr', n) } }),
};

const ROWS: Readonly<Record<string, RowsUnderTest>> = {
  'Query.users': {
    select: 'users$PAGE',
    path: ['users'],
    node: 'id',
    orders: ['CREATED_AT', 'NAME', 'EMAIL'].flatMap((field) =>
      ['ASC', 'DESC'].map((order) => `orderBy: { field: ${field}, order: ${order} }`),
    ),
    ...user,
  },
  'Query.organizations': {
    select: 'organizations$PAGE',
    path: ['organizations'],
    node: 'id',
    add: (db, n) => db.organization.create({ data: { id: id('org', n), name: id('o', n) } }),
    remove: (db, n) => db.organization.delete({ where: { id: id('org', n) } }),
  },
  'Organization.members': {
    select: `node(id: "${ORGANIZATION}") { ... on Organization { members$PAGE } }`,
    path: ['node', 'members'],
    node: 'user { id }',
    add: async (db, n) => {
      await user.add(db, n);
      await db.organizationMember.create({ data: { organizationId: ORGANIZATION, userId: id('usr', n) } });
    },
    remove: user.remove,
  },
  'Project.members': {
    select: inProject('members$PAGE'),
    path: ['project', 'members'],
    node: 'user { id }',
    add: async (db, n) => {
      await user.add(db, n);
      const data = { projectId: PROJECT, userId: id('usr', n), createdAt: at(n), ...member };
      await db.projectMember.create({ data });
    },
    remove: user.remove,
  },
  'User.memberships': {
    select: `user(id: "${OWNER}") { memberships$PAGE }`,
    path: ['user', 'memberships'],
    node: 'project { id }',
    kinds: ['project'],
    add: async (db, n) => {
      await db.project.create({ data: { id: id('prj', n), name: 'p', ownerUserId: OWNER } });
      const data = { projectId: id('prj', n), userId: OWNER, createdAt: at(n), ...member };
      await db.projectMember.create({ data });
    },
    remove: (db, n) => db.project.delete({ where: { id: id('prj', n) } }),
  },
  'Query.projects': {
    select: 'projects$PAGE',
    path: ['projects'],
    node: 'id',
    kinds: ['project'],
    add: (db, n) => db.project.create({ data: { id: id('prj', n), name: 'p', ownerUserId: OWNER } }),
    remove: (db, n) => db.project.delete({ where: { id: id('prj', n) } }),
  },
  'Project.brokers': {
    select: inProject('brokers$PAGE'),
    path: ['project', 'brokers'],
    node: 'id',
    kinds: ['broker'],
    orders: ['', 'orderBy: { field: NAME, order: DESC }', 'orderBy: { field: CREATED_AT, order: ASC }'],
    add: (db, n) => db.broker.create({ data: broker(n) }),
    remove: (db, n) => db.broker.delete({ where: { id: id('brk_list', n) } }),
  },
  'Project.certificates': {
    select: inProject('certificates$PAGE'),
    path: ['project', 'certificates'],
    node: 'id',
    add: (db, n) => {
      const names = { name: 'c', filename: id('c', n), cert: '' };
      return db.certificate.create({ data: { id: id('crt', n), projectId: PROJECT, ...names } });
    },
    remove: (db, n) => db.certificate.delete({ where: { id: id('crt', n) } }),
  },
  'Project.clusters': {
    select: inProject('clusters$PAGE'),
    path: ['project', 'clusters'],
    node: 'id',
    kinds: ['broker', 'cluster'],
    add: async (db, n) => {
      const id = `brk_cluster_${n}`;
      await db.broker.create({
        data: { id, projectId: PROJECT, type: 'ON_PREMISE_SETUP', metricsEnabled: false, name: 'k' },
      });
      await db.cluster.create({ data: { id, name: 'k', mode: 'DYNSEC', keeper: 'GATEWAY' } });
    },
    remove: (db, n) => db.broker.delete({ where: { id: `brk_cluster_${n}` } }),
  },
  'NotificationChannel.deliveries': {
    select: `node(id: "${CHANNEL}") { ... on NotificationChannel { deliveries$PAGE } }`,
    path: ['node', 'deliveries'],
    node: 'id',
    add: (db, n) => {
      const times = { nextAttemptAt: at(n), lastAttemptAt: at(n), endedAt: at(n) };
      const data = { id: id('ntd', n), channelId: CHANNEL, number: n, state: 'DELIVERED', content: CONTENT, ...times };
      return db.notificationDelivery.create({ data: { ...data, state: 'DELIVERED' } });
    },
    remove: (db, n) => db.notificationDelivery.delete({ where: { id: id('ntd', n) } }),
  },
  ...Object.fromEntries(
    [
      ['Query.auditEvents', 'auditEvents$PAGE', ['auditEvents']] as const,
      ['Project.auditEvents', inProject('auditEvents$PAGE'), ['project', 'auditEvents']] as const,
    ].map(([field, select, path]) => [
      field,
      {
        select,
        path,
        node: 'id',
        orders: ['', 'orderBy: { field: TIME, order: ASC }'],
        add: (db: Database, n: number) => {
          const actor = { actorKind: 'SERVICE', address: '', requestId: '', via: 'SERVICE', operation: 'x' };
          const end = { result: 'DONE', previousHash: '', hash: `${n}` };
          const data = { sequence: 1_000 + n, id: id('aud', n), at: at(n), projectId: PROJECT, ...actor, ...end };
          return db.auditEntry.create({ data });
        },
        remove: (db: Database, n: number) => db.auditEntry.delete({ where: { sequence: 1_000 + n } }),
      },
    ]),
  ),
};

/** Lists of a broker, whose pages have tests of their own: by their selections, those of types below `broker`. */
const OF_BROKERS: Readonly<Record<string, string>> = {
  'Broker.accounts': 'accounts$PAGE',
  'Broker.accessGroups': 'accessGroups$PAGE',
  'Broker.accessRoles': 'accessRoles$PAGE',
  'AccessGroup.accounts': 'accessGroup(groupName: "staff") { accounts$PAGE }',
  'AccessRole.accounts': 'accessRole(roleName: "admin") { accounts$PAGE }',
  'AccessRole.groups': 'accessRole(roleName: "admin") { groups$PAGE }',
  'Broker.clientEvents': 'clientEvents$PAGE',
  'Broker.connectedClients': 'connectedClients$PAGE',
  'Broker.problems': 'problems$PAGE',
  'Broker.refusals': 'refusals$PAGE',
  'Broker.retainedMessages': 'retainedMessages$PAGE',
  'Broker.streams': 'streams$PAGE',
  'Query.accountPasswords': 'accountPasswords$PAGE',
  'TopicTree.topics': 'topicTree { topics$PAGE }',
  'TopicTree.children': 'topicTree { children$PAGE }',
};
/** Share their cursors with another list. */
const SHARED: readonly string[] = [
  'TopicLevel.children',
  'Query.whoCan',
  'Broker.clientHistory',
  'Project.clientEvents',
  'Project.problems',
  'Query.problems',
];

function connectionFields(): string[] {
  const types = Object.values(schema.getTypeMap()).filter((type) => isObjectType(type) || isInterfaceType(type));
  return types.flatMap((type) =>
    Object.values(type.getFields())
      .filter(({ name }) => !type.getInterfaces().some((above) => name in above.getFields()))
      .filter((field) => {
        const page = getNamedType(field.type);
        return isObjectType(page) && 'pageInfo' in page.getFields();
      })
      .map(({ name }) => `${type.name}.${name}`),
  );
}

test('each connection of the schema is tested', () => {
  const tested = [...Object.keys(ROWS), ...Object.keys(OF_BROKERS), ...SHARED];
  expect(connectionFields().toSorted()).toEqual(tested.toSorted());
});

interface Page {
  readonly totalCount: number;
  readonly edges: readonly { readonly cursor: string; readonly node: unknown }[];
  readonly pageInfo: Readonly<Record<'hasNextPage' | 'hasPreviousPage', boolean>> &
    Readonly<Record<'startCursor' | 'endCursor', string | null>>;
}

const PAGE_INFO = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor }';

const read = ({ graphql }: TestService, { select, node }: Pick<RowsUnderTest, 'select' | 'node'>, args: string) =>
  graphql(`{ ${select.replace('$PAGE', `(${args}) { totalCount edges { cursor node { ${node} } } ${PAGE_INFO} }`)} }`);

const pageIn = ({ data, errors }: GraphqlAnswer, path: readonly string[]): Page => {
  expect(errors).toBeUndefined();
  return path.reduce((value, name) => value[name], data);
};

/** What happens between two pages: rows are removed, by their places in the list at the start, and added. */
const plan = fc.record({
  count: fc.nat({ max: 10 }),
  size: fc.integer({ min: 1, max: 4 }),
  isBackwards: fc.boolean(),
  order: fc.nat(),
  steps: fc.array(fc.record({ removed: fc.array(fc.nat({ max: 9 }), { maxLength: 3 }), added: fc.nat({ max: 2 }) })),
});

async function startWithLists(options: Parameters<typeof startTestService>[0] = {}): Promise<TestService> {
  const service = await startTestService(options);
  const { db, changes } = service.storage;
  await db.user.create({ data: { id: OWNER, email: 'owner@example.com', name: 'o' } });
  await db.project.create({ data: { id: PROJECT, name: 'p', ownerUserId: OWNER } });
  await db.organization.create({ data: { id: ORGANIZATION, name: 'lists' } });
  const channel = { kind: 'EMAIL', name: 'c', isActive: false, rules: '{}', target: '{"to":[]}' } as const;
  await db.notificationChannel.create({ data: { id: CHANNEL, projectId: PROJECT, ...channel } });
  await changes.announce('project', ANYTHING);
  await expect.poll(() => service.services.projects.exists(PROJECT)).toBe(true);
  return service;
}

test('pages have each row that stays once, while rows are removed and added between them', async () => {
  const service = await startWithLists();
  const { db, changes } = service.storage;
  let number = 0;
  for (const [field, rows] of Object.entries(ROWS)) {
    const { orders = [''], path, kinds = [] } = rows;
    const change = async (removed: readonly number[], added: readonly number[]) => {
      const before = pageIn(await read(service, rows, 'first: 0'), path).totalCount;
      for (const n of removed) await rows.remove(db, n);
      for (const n of added) await rows.add(db, n);
      for (const kind of kinds) await changes.announce(kind, ANYTHING);
      const expected = before + added.length - removed.length;
      const isSeen = async () => {
        const answer = await read(service, rows, 'first: 100');
        return answer.errors === undefined && pageIn(answer, path).totalCount === expected;
      };
      await expect.poll(isSeen).toBe(true);
    };
    const more = (count: number) => Array.from({ length: count }, () => (number += 1));
    const run = fc.asyncProperty(plan, async ({ count, size, isBackwards, order, steps }) => {
      const rest = new Set(more(count));
      const first = [...rest];
      await change([], first);
      const sorted = orders[order % orders.length] ?? '';
      const nodesOf = ({ edges }: Page) => edges.map(({ node }) => JSON.stringify(node));
      const all = nodesOf(pageIn(await read(service, rows, `first: 100, ${sorted}`), path));
      const seen: string[] = [];
      for (let cursor: string | null = null, at = 0; ; at += 1) {
        const [amount, place] = isBackwards ? ['last', 'before'] : ['first', 'after'];
        const args = `${amount}: ${size}, ${cursor === null ? '' : `${place}: "${cursor}",`} ${sorted}`;
        const page = pageIn(await read(service, rows, args), path);
        if (isBackwards) seen.unshift(...nodesOf(page));
        else seen.push(...nodesOf(page));
        if (!page.pageInfo[isBackwards ? 'hasPreviousPage' : 'hasNextPage']) break;
        cursor = page.pageInfo[isBackwards ? 'startCursor' : 'endCursor'];
        const { removed = [], added = 0 } = steps[at] ?? {};
        const gone = new Set(removed.flatMap((index) => first[index] ?? []).filter((n) => rest.delete(n)));
        const fresh = more(added);
        await change([...gone], fresh);
        for (const n of fresh) rest.add(n);
      }
      const left = new Set(nodesOf(pageIn(await read(service, rows, `first: 100, ${sorted}`), path)));
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.filter((node) => all.includes(node) && left.has(node))).toEqual(all.filter((node) => left.has(node)));
      await change([...rest], []);
    });
    await fc.assert(run, { numRuns: 5 }).catch((error: unknown) => {
      throw new Error(`${field}: ${error instanceof Error ? error.message : error}`, { cause: error });
    });
  }
});

test('a cursor of another list, of another order or of a changed text is refused with its argument', async () => {
  const service = await startWithLists({ embeddedBroker: true });
  const { db, changes } = service.storage;
  const brokers = await service.graphql('{ projects { nodes { id brokers { nodes { id } } } } }');
  const brokerId = brokers.data.projects.nodes.flatMap((project: { brokers: { nodes: { id: string }[] } }) =>
    project.brokers.nodes.map(({ id }) => id),
  )[0];
  const retained = `mutation { publishMessage(input: { brokerId: "${brokerId}", topic: "a/b", payload: { text: "1" }, retain: true }) { topic } }`;
  expect((await service.graphql(retained)).errors).toBeUndefined();
  const staff = `mutation { createAccessGroup(input: { brokerId: "${brokerId}", change: { groupName: "staff" } }) { outcome } }`;
  expect((await service.graphql(staff)).errors).toBeUndefined();
  const lists = new Map(
    Object.entries(OF_BROKERS).map(([field, list]) => [
      field,
      field.startsWith('Query.')
        ? { select: list, args: `brokerId: "${brokerId}"` }
        : {
            select: `broker(id: "${brokerId}") { ${list} }`,
            args: field === 'Broker.retainedMessages' ? 'filter: "#"' : '',
          },
    ]),
  );
  for (const [field, { select, add, orders = [''], kinds = [] }] of Object.entries(ROWS)) {
    // Rows may be in several lists, so each list has numbers of its own.
    for (const n of [1, 2]) await add(db, lists.size * 10 + n);
    for (const kind of kinds) await changes.announce(kind, ANYTHING);
    for (const order of orders) lists.set(`${field} ${order}`, { select, args: order });
  }
  const page = async ({ select, args }: { select: string; args: string }, more: string) => {
    const selection = `(${args} ${more}) { edges { cursor } }`;
    const { data, errors } = await service.graphql(`{ ${select.replace('$PAGE', selection)} }`);
    const cursors = [...JSON.stringify(data ?? null).matchAll(/"cursor":"([^"]*)"/g)].map(([, cursor = '']) => cursor);
    return { cursors, errors };
  };
  const found = new Map<string, string>();
  for (const [name, list] of lists) {
    await expect.poll(async () => (await page(list, 'first: 5')).errors, { message: name }).toBeUndefined();
    const [cursor] = (await page(list, 'first: 5')).cursors;
    if (cursor !== undefined) found.set(name, cursor);
  }
  expect(found.size).toBeGreaterThan(Object.keys(ROWS).length + 5);
  const others = [...found];
  for (const [at, [name, list]] of [...lists].entries()) {
    const own = found.get(name);
    if (own !== undefined) expect((await page(list, `first: 5, after: "${own}"`)).errors, name).toBeUndefined();
    const parts = JSON.parse(Buffer.from(own ?? others[0]?.[1] ?? '', 'base64url').toString());
    const changed = [[], [...parts.slice(0, 2), {}, 'x'], [...parts.slice(0, 3), 5], ['x', ...parts.slice(1)]];
    const texts = changed.map((value) => Buffer.from(JSON.stringify(value)).toString('base64url'));
    // One other list for each, so that all pairs of neighbours are tried.
    const foreign = others[(at + 1) % others.length];
    for (const wrong of ['', 'zzz', '5', ...texts, ...(foreign?.[0] === name ? [] : [foreign?.[1]])]) {
      const { errors } = await page(list, `first: 5, after: "${wrong}"`);
      expect(errors?.[0]?.extensions, `${name} after ${wrong}`).toMatchObject({
        code: 'INVALID',
        info: { issues: [{ path: 'after' }] },
      });
      if (!((name.split(' ')[0] ?? '') in ROWS)) continue;
      const backwards = await page(list, `last: 5, before: "${wrong}"`);
      expect(backwards.errors?.[0]?.extensions, `${name} before ${wrong}`).toMatchObject({ code: 'INVALID' });
    }
  }
});
