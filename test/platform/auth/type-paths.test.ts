import {
  execute,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isAbstractType,
  isListType,
  isObjectType,
  parse,
} from 'graphql';
import { expect, test } from 'vitest';
import '../../../src/app/schema.ts';
import type { RequestContext } from '../../../src/gateway/context.ts';
import { builder, open } from '../../../src/gateway/graphql/builder.ts';
import { compile } from '../../../src/gateway/graphql/compile.ts';
import { operationDocument } from '../../../src/gateway/graphql/document.ts';
import type { TypeScope } from '../../../src/gateway/graphql/type-scopes.ts';
import type { ProjectRole, Viewer } from '../../../src/platform/auth/viewer.ts';
import { startTestService } from '../../support/service.ts';
import type { Field } from './rights-model.ts';
import { selectionOf, variablesFor, type World } from './rights-world.ts';

// Every field of the graph that returns a type with a scope (of any parent, also connections, payloads and events)
// returns an object of a project without checking the caller. Only the scope of the type is left to refuse it.

interface Place {
  readonly projectId: string;
  readonly brokerId: string;
}

const scopeOf = (type: GraphQLNamedType): TypeScope | undefined =>
  isObjectType(type)
    ? [type, ...type.getInterfaces()].map(({ extensions }) => extensions.scope as TypeScope | undefined).find(Boolean)
    : undefined;

/** Types with the scope of a project, which tokens for other brokers of the project may read. */
const OF_PROJECTS = [
  'Project',
  'ProjectSettings',
  'RestProjectSettings',
  'ProjectMember',
  'Token',
  'SignInRule',
  'Certificate',
  'AuditEvent',
  'ProblemSilence',
  'ProblemThresholds',
  'NotificationChannel',
  'NotificationDelivery',
];
/** Those whose own id is that of the project. */
const PROJECTS = ['Project', 'ProjectSettings', 'ProblemThresholds', 'RestProjectSettings'];

/** A value of any type with a scope. */
function objectOf(type: GraphQLNamedType, { projectId, brokerId }: Place) {
  const broker = { id: brokerId, projectId };
  const id = PROJECTS.includes(type.name) ? projectId : brokerId;
  return {
    id,
    projectId,
    brokerId,
    clusterId: brokerId,
    type: 'SELF_HOSTED',
    broker,
    view: { broker },
    client: { broker },
    channel: { projectId },
  };
}

const CALLERS = {
  stranger: { role: null },
  viewer: { role: 'VIEWER' },
  editor: { role: 'EDITOR' },
  admin: { role: 'ADMIN' },
  root: { role: null, isRootAdmin: true },
  viewerToken: { role: 'VIEWER', isRestricted: false },
  otherToken: { role: 'ADMIN', isRestricted: true },
} as const satisfies Record<string, { role: ProjectRole | null; isRootAdmin?: boolean; isRestricted?: boolean }>;

type CallerName = keyof typeof CALLERS;

/** An administrator of its own project, with a role in the other one. */
function callerOf(name: CallerName, own: Place, other: Place): Viewer {
  const {
    role,
    isRootAdmin = false,
    isRestricted,
  }: (typeof CALLERS)[CallerName] & Record<string, unknown> = CALLERS[name];
  return {
    kind: isRestricted === undefined ? 'USER' : 'TOKEN',
    id: name,
    name,
    credentialId: name,
    expiresAt: Number.POSITIVE_INFINITY,
    isRootAdmin: isRootAdmin === true,
    projectRoles: new Map([[own.projectId, 'ADMIN' as const], ...(role ? [[other.projectId, role] as const] : [])]),
    brokers: isRestricted === true ? new Set([own.brokerId]) : null,
  };
}

const REFUSALS: Readonly<Record<ProjectRole, Partial<Record<CallerName, string>>>> = {
  VIEWER: { stranger: 'NOT_FOUND' },
  EDITOR: { stranger: 'NOT_FOUND', viewer: 'NOT_ALLOWED', viewerToken: 'NOT_ALLOWED' },
  ADMIN: { stranger: 'NOT_FOUND', viewer: 'NOT_ALLOWED', editor: 'NOT_ALLOWED', viewerToken: 'NOT_ALLOWED' },
};

function refusalOf(type: GraphQLObjectType, scope: TypeScope, caller: CallerName): string | undefined {
  if (caller === 'otherToken' && !OF_PROJECTS.includes(type.name)) return 'NOT_FOUND';
  return REFUSALS[scope.role][caller];
}

interface Path {
  readonly name: string;
  readonly kind: string;
  readonly parent: GraphQLObjectType;
  readonly field: Field;
  readonly type: GraphQLObjectType;
}

const PROBE = 'probe';

/** A schema in which each type can also be reached from the root. */
function probedSchema(): GraphQLSchema {
  const names = Object.values(builder.toSchema().getTypeMap()).filter(
    (type) => isObjectType(type) && !/^(__|(Query|Mutation|Subscription)$)/.test(type.name),
  );
  builder.queryFields((t) =>
    Object.fromEntries(
      names.map(({ name }) => [
        `${PROBE}${name}`,
        t.field({ type: name as never, nullable: true, ...open, resolve: () => null as never }),
      ]),
    ),
  );
  return builder.toSchema();
}

function pathsIn(schema: GraphQLSchema): Path[] {
  const roots = { query: schema.getQueryType(), mutation: schema.getMutationType() };
  const kinds = new Map(
    Object.entries({ ...roots, subscription: schema.getSubscriptionType() }).map(([kind, root]) => [root, kind]),
  );
  return Object.values(schema.getTypeMap()).flatMap((parent) =>
    !isObjectType(parent) || parent.name.startsWith('__')
      ? []
      : Object.values(parent.getFields())
          .filter((field) => !field.name.startsWith(PROBE))
          .flatMap((field) => {
            const named = getNamedType(field.type);
            const types = isAbstractType(named) ? schema.getPossibleTypes(named) : [named];
            return (
              types
                .filter((type): type is GraphQLObjectType => scopeOf(type) !== undefined)
                // Values of `objectOf` are self-hosted brokers where an interface is declared.
                .filter((type) => !isAbstractType(named) || type.name === 'SelfHostedBroker')
                .map((type) => {
                  const kind = kinds.get(parent) ?? '';
                  return { name: `${parent.name}.${field.name}: ${type.name}`, kind, parent, field, type };
                })
            );
          }),
  );
}

function documentOf({ kind, parent, field }: Path): string {
  const { variables, text } = selectionOf(field);
  const declared = variables && `(${variables})`;
  return kind ? `${kind} ${declared} { ${text} }` : `query ${declared} { ${PROBE}${parent.name} { ${text} } }`;
}

test('no path leads to an object of a project without the role that its type declares', async () => {
  const service = await startTestService();
  const placeOf = async (): Promise<Place> => {
    const created = await service.graphql('mutation { createProject(input: { name: "p" }) { project { id } } }');
    const projectId = created.data.createProject.project.id;
    const entry = { name: 'b', url: 'mqtt://127.0.0.1:1' };
    const { body } = await service.rest('POST', `/api/projects/${projectId}/brokers`, service.root, entry);
    return { projectId, brokerId: body.id };
  };
  const [own, other] = [await placeOf(), await placeOf()];
  const schema = probedSchema();
  const paths = pathsIn(schema);
  expect(paths.length).toBeGreaterThan(80);

  const surprises: unknown[] = [];
  for (const path of paths) {
    const { field, parent, type } = path;
    const scope = scopeOf(type) as TypeScope;
    const value = objectOf(type, other);
    field.resolve = () => (isListType(getNullableType(field.type)) ? [value] : value);
    const probe = schema.getQueryType()?.getFields()[`${PROBE}${parent.name}`];
    if (probe) probe.resolve = () => objectOf(parent, own);
    const text = documentOf(path);
    const document = operationDocument(parse(text));
    if (document === null) throw new Error(`${text} is not one operation`);
    const variables = variablesFor(field, { ...own } as unknown as World);
    const compiled = compile(schema, document, {});
    for (const caller of Object.keys(CALLERS) as CallerName[]) {
      const viewer = callerOf(caller, own, other);
      const { services, storage } = service;
      const context: RequestContext = { viewer, requestId: 'r', address: '', db: storage.db, services };
      const results = [
        await execute({ schema, document, contextValue: context, variableValues: variables, rootValue: {} }),
        await compiled({}, context, variables),
      ];
      const codes = results.map((result) => result?.errors?.map(({ extensions }) => extensions.code).join() ?? 'none');
      const expected = refusalOf(type, scope, caller) ?? 'none';
      if (codes.some((code) => code !== expected)) surprises.push([path.name, caller, codes, expected]);
    }
  }
  expect(surprises).toEqual([]);
}, 600_000);
