import { describe, expect, test } from 'vitest';
import { swapClusterId } from '../../../src/gateway/cluster-id.ts';
import type { Requirement } from '../../../src/gateway/graphql/builder.ts';
import type { JsonSchema, Route } from '../../../src/gateway/rest/route.ts';
import { ERROR_STATUS } from '../../../src/platform/errors.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { isLong } from '../../support/suite.ts';
import { credentialsOf } from './rights-callers.ts';
import {
  CALLER_NAMES,
  CALLERS,
  type CallerName,
  type Field,
  type InnerField,
  innerFields,
  OWN_REFUSALS,
  type Refusal,
  type RootKind,
  refusalOf,
  requirementOf,
  rootFields,
  routeRequirement,
  routes,
} from './rights-model.ts';
import {
  codeOf,
  documentFor,
  furnished,
  IMPOSSIBLE,
  isWhole,
  POSSIBLE,
  selectionOf,
  variablesFor,
  type World,
} from './rights-world.ts';

// Every caller tries every operation of the graph, every inner field with a requirement, and every route. A caller
// without permission gets exactly the expected status. A caller with permission gets neither 401 nor 403. The matrix
// runs on SQLite only, because permissions do not depend on the database. For PostgreSQL see rights.test.ts.

interface Asked {
  readonly name: string;
  readonly requirement: Requirement;
  /** Takes away what others name. */
  readonly isDestructive: boolean;
  /** The status that it is refused with, 200 where it is not. */
  readonly ask: (world: World, caller: CallerName, token: string | null, mayHappen: boolean) => Promise<number>;
}

const statusOf = (code: keyof typeof ERROR_STATUS | undefined) => (code === undefined ? 200 : ERROR_STATUS[code]);

const askedField = (kind: RootKind, field: Field): Asked => ({
  name: `${kind} ${field.name}`,
  requirement: requirementOf(field) as Requirement,
  isDestructive:
    /^(delete(Project|Broker|Certificate|Clusters?|SignInRule|NotificationChannel)|revokeToken|endSilence|logout)$/.test(
      field.name,
    ),
  ask: async (world, _caller, token, mayHappen) => {
    const variables = variablesFor(field, world, kind === 'mutation' && !mayHappen ? IMPOSSIBLE : POSSIBLE);
    const code = await codeOf(world, kind, documentFor(kind, field), variables, token);
    return statusOf(code);
  },
});

/** How each caller gets to an object of a type. People see themselves; who has a token sees the members. */
const WAYS: Readonly<Record<string, (selection: string, caller: CallerName) => string>> = {
  Project: (selection) => `project(id: $projectId) { ${selection} }`,
  Broker: (selection) => `broker(id: $brokerId) { ${selection} }`,
  Viewer: (selection) => `viewer { ${selection} }`,
  User: (selection, caller) =>
    CALLERS[caller].kind === 'TOKEN'
      ? `project(id: $projectId) { members(first: 1) { nodes { user { ${selection} } } } }`
      : `viewer { user { ${selection} } }`,
};

const askedInner = ({ parent, field }: InnerField): Asked => ({
  name: `${parent.name}.${field.name}`,
  requirement: requirementOf(field) as Requirement,
  isDestructive: false,
  ask: async (world, caller, token) => {
    const way = WAYS[parent.name];
    if (way === undefined) throw new Error(`Say how to get to a ${parent.name}`);
    const { variables, text } = selectionOf(field);
    const body = way(text, caller);
    const ids = ['projectId', 'brokerId'].filter((id) => body.includes(`$${id}`)).map((id) => `$${id}: ID!`);
    const declared = [...ids, variables].filter(Boolean).join(', ');
    const document = `query ${declared && `(${declared})`} { ${body} }`;
    const { projectId, brokerId } = world;
    const values = { projectId, brokerId, ...variablesFor(field, world) };
    const used = Object.fromEntries(Object.entries(values).filter(([name]) => document.includes(`$${name}:`)));
    return statusOf(await codeOf(world, 'query', document, used, token));
  },
});

/** In paths, a cluster has the id of its broker entry. */
const fill = (path: string, { clusterId, ...ids }: World): string => {
  const known: Readonly<Record<string, unknown>> = { ...ids, clusterId: swapClusterId(clusterId) };
  return path.replace(/\{(\w+)\}/g, (_, name: string) => String(known[name] ?? 'unknown'));
};

function pathOf({ path, query }: Route, world: World): string {
  const { required = [], properties = {} } = (query ?? {}) as {
    required?: string[];
    properties?: Record<string, JsonSchema>;
  };
  const search = required.map((name) => `${name}=${properties[name]?.type === 'integer' ? 1 : 'x%40y.z'}`).join('&');
  return fill(path, world) + (search && `?${search}`);
}

const askedRoute = (route: Route): Asked => ({
  name: `${route.method} ${route.path}`,
  requirement: routeRequirement(route),
  isDestructive: route.method === 'DELETE' && !route.path.includes('/brokers/{brokerId}/'),
  ask: async (world, _caller, token, mayHappen) => {
    const [example] = (route.body?.examples ?? []) as readonly unknown[];
    // The role is checked before the input, so callers with permission need no valid input: its check refuses them.
    const body = route.body === undefined ? undefined : mayHappen ? example : { '\0': 1 };
    const { status } = await world.rest(route.method, pathOf(route, world), token, body);
    return [401, 403, 404].includes(status) ? status : 200;
  },
});

const ASKED: readonly Asked[] = [
  ...(['query', 'mutation', 'subscription'] as const).flatMap((kind) =>
    rootFields(kind).map((field) => askedField(kind, field)),
  ),
  ...innerFields().map(askedInner),
  ...routes.map(askedRoute),
];

interface Cell {
  readonly asked: Asked;
  readonly caller: CallerName;
  readonly expected: Refusal;
}

const cells = (isStrict = false): Cell[] =>
  ASKED.filter(({ requirement }) => !isStrict || requirement.requiresIfStrict !== undefined).flatMap((asked) =>
    CALLER_NAMES.map((caller) => ({
      asked,
      caller,
      expected: refusalOf(asked.requirement, CALLERS[caller], isStrict),
    })),
  );

const IN_ORDER: readonly (readonly CallerName[])[] = [
  ['stranger', 'viewer', 'editor', 'admin', 'root'],
  ['viewerToken', 'editorToken', 'adminToken'],
  ['expiredToken', 'revokedToken'],
];

/** Runs that are not long omit a caller whose neighbours in the order of permissions are expected to get the same. */
function isTried({ asked, caller, expected }: Cell, isStrict = false): boolean {
  const order = IN_ORDER.find((names) => names.includes(caller)) ?? [];
  const at = order.indexOf(caller);
  if (isLong || at <= 0) return true;
  const others = [order[at - 1], order[at + 1]].filter((name) => name !== undefined);
  return others.some((name) => refusalOf(asked.requirement, CALLERS[name], isStrict) !== expected);
}

type Surprise = readonly [name: string, caller: CallerName, got: number, expected: Refusal];

/** Null: as expected. */
async function surpriseOf(cell: Cell, world: World, token: string | null): Promise<Surprise | null> {
  const { asked, caller, expected } = cell;
  const got = await asked.ask(world, caller, token, expected !== null);
  const isRight = expected === null ? ![401, 403].includes(got) : got === expected;
  if (isRight || (expected === null && got === OWN_REFUSALS[asked.name.split(' ')[1] ?? ''])) return null;
  return [asked.name, caller, got, expected];
}

const AT_ONCE = 16;

/** So many at once: a subscription that waits for a broker holds up one place and not the others. */
async function surprises(
  list: readonly Cell[],
  tryCell: (cell: Cell) => Promise<Surprise | null>,
): Promise<Surprise[]> {
  const found: Surprise[] = [];
  const left = list.values();
  const work = async () => {
    for (const cell of left) {
      const surprise = await tryCell(cell);
      if (surprise) found.push(surprise);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

async function everybody(world: World): Promise<ReadonlyMap<CallerName, string | null>> {
  const known = new Map<CallerName, string | null>();
  for (const name of CALLER_NAMES) known.set(name, await credentialsOf(name, world));
  return known;
}

/** In a project of its own, which goes with it. */
async function alone(service: TestService, cell: Cell): Promise<Surprise | null> {
  // Of a name or a path, `deleteClusters` or `/clusters/{clusterId}`.
  const world = await furnished(service, { withCluster: /cluster/i.test(cell.asked.name) });
  try {
    return await surpriseOf(cell, world, await credentialsOf(cell.caller, world));
  } finally {
    const remove = 'mutation ($p: ID!) { deleteProject(input: { projectId: $p }) { deletedProjectId } }';
    await service.graphql(remove, { p: world.projectId });
  }
}

/** All that is known of a world, and how a cell is tried in it. */
async function inhabited(service: TestService, isStrict = false) {
  const world = await furnished(service, { isStrict });
  const tokens = await everybody(world);
  return { world, tryCell: (cell: Cell) => surpriseOf(cell, world, tokens.get(cell.caller) ?? null) };
}

const REFUSED = cells().filter(({ expected }) => expected !== null);
const ADMITTED = cells().filter(({ expected }) => expected === null);

describe.skipIf(process.env.TEST_ENGINE === 'postgresql')('the matrix', () => {
  // Each world is another project. A service parses and compiles hundreds of documents before the first response.
  const service = shared(() => startTestService());

  test.each(['users', 'tokens'])('%s without permission get the expected status and change nothing', async (whose) => {
    const { world, tryCell } = await inhabited(await service());
    const isToken = ({ caller }: Cell) => caller.endsWith('Token');
    const refused = REFUSED.filter((cell) => isToken(cell) === (whose === 'tokens'));
    expect(refused.length).toBeGreaterThan(500);
    expect(
      await surprises(
        refused.filter((cell) => isTried(cell)),
        tryCell,
      ),
    ).toEqual([]);
    expect(await isWhole(world)).toBe(true);
  });

  test('callers with permission are allowed', async () => {
    const { world, tryCell } = await inhabited(await service());
    const harmless = ADMITTED.filter((cell) => !cell.asked.isDestructive && isTried(cell));
    expect(await surprises(harmless, tryCell)).toEqual([]);
    expect(await isWhole(world), 'operations that delete something are tried alone').toBe(true);
  });

  test('callers with permission delete something in a separate project', async () => {
    const destructive = ADMITTED.filter((cell) => cell.asked.isDestructive && isTried(cell));
    const shared = await service();
    expect(await surprises(destructive, (cell) => alone(shared, cell))).toEqual([]);
  });

  test('in strict projects what viewers may change elsewhere is for editors', async () => {
    const { tryCell } = await inhabited(await service(), true);
    const strict = cells(true);
    expect(strict.length).toBeGreaterThan(300);
    expect(strict.some(({ caller, expected }) => caller === 'viewerToken' && expected === 403)).toBe(true);
    const tried = strict.filter((cell) => isTried(cell, true));
    expect(await surprises(tried, tryCell)).toEqual([]);
  });
});
