import { execute, parse } from 'graphql';
import { expect, test } from 'vitest';
import '../../../src/app/schema.ts';
import type { BrokerRecord } from '../../../src/domains/brokers/broker-cache.ts';
import { Broker, CloudBroker } from '../../../src/domains/brokers/broker-schema.ts';
import type { ProjectRecord } from '../../../src/domains/projects/project-cache.ts';
import { Project } from '../../../src/domains/projects/project-schema.ts';
import type { RequestContext } from '../../../src/gateway/context.ts';
import { builder } from '../../../src/gateway/graphql/builder.ts';
import { compileOperation } from '../../../src/gateway/graphql/internal-operation.ts';
import { Node } from '../../../src/gateway/graphql/node.ts';
import { listConnection } from '../../../src/platform/paging.ts';
import { leftBy } from '../../domains/audit/audited-service.ts';
import { cursorAt } from '../../support/cursors.ts';
import { startTestService } from '../../support/service.ts';

// Fields whose authors forgot to check the caller: they return whatever `found` holds.
const found: { broker: BrokerRecord | null; project: ProjectRecord | null } = { broker: null, project: null };
const broker = () => found.broker as BrokerRecord;
const project = () => found.project as ProjectRecord;

const Holder = builder.objectRef<{ readonly broker: BrokerRecord }>('Holder').implement({
  fields: (t) => ({ broker: t.expose('broker', { type: Broker, nullable: true }) }),
});

const ForgottenEdge = builder.edgeObject({ type: Broker, name: 'ForgottenEdge', nodeNullable: true });

builder.queryFields((t) => ({
  forgottenBroker: t.field({ type: Broker, nullable: true, resolve: broker }),
  forgottenKind: t.field({ type: CloudBroker, nullable: true, resolve: broker }),
  forgottenNode: t.field({ type: Node, nullable: true, resolve: async () => broker() }),
  forgottenList: t.field({
    type: [Broker],
    nullable: { list: false, items: true },
    resolve: () => [broker(), broker()],
  }),
  forgottenPromises: t.field({
    type: [Broker],
    nullable: { list: false, items: true },
    resolve: () => [Promise.resolve(broker())],
  }),
  forgottenHolder: t.field({ type: Holder, resolve: () => ({ broker: broker() }) }),
  forgottenProject: t.field({ type: Project, nullable: true, resolve: project }),
  forgottenConnection: t.connection(
    { type: Broker, resolve: () => listConnection([broker()], {}, 'Broker') },
    { name: 'ForgottenConnection', nodeNullable: true },
    ForgottenEdge,
  ),
  forgottenEdge: t.field({ type: ForgottenEdge, resolve: () => ({ cursor: 'c', node: broker() }) }),
}));
const schema = builder.toSchema();

const FIELDS = {
  forgottenBroker: null,
  forgottenKind: null,
  forgottenNode: null,
  forgottenList: [null, null],
  forgottenPromises: [null],
  forgottenProject: null,
};
const holding = (node: object | null) => ({
  forgottenHolder: { broker: node },
  forgottenConnection: { edges: [{ cursor: cursorAt('Broker', found.broker?.id ?? ''), node }] },
  forgottenEdge: { node },
});
const HELD = ['forgottenHolder.broker', 'forgottenConnection.edges.0.node', 'forgottenEdge.node'];
const DOCUMENT = `{ forgottenHolder { broker { id } } forgottenConnection { edges { cursor node { id } } }
  forgottenEdge { node { id } } ${Object.keys(FIELDS)
    .map((name) => `${name} { id }`)
    .join(' ')} __typename }`;

type Outcome = { readonly data: unknown; readonly errors: readonly (readonly [path: string, code: unknown])[] };

async function outcomes(contextValue: RequestContext): Promise<Outcome[]> {
  const results = [
    await execute({ schema, document: parse(DOCUMENT), contextValue }),
    await compileOperation(schema, DOCUMENT).execute(contextValue),
  ];
  return results.map(({ data, errors = [] }) => ({
    data: JSON.parse(JSON.stringify(data)),
    errors: errors.map(({ path, extensions }) => [path?.join('.') ?? '', extensions.code] as const).sort(),
  }));
}

test('a field that forgets to check the caller does not return objects of other projects', async () => {
  const service = await startTestService();
  const { projectId, storage, services, root, rest } = service;
  const viewerOf = async (token: string) => services.auth.viewerOf(`Bearer ${token}`, '');
  const { body } = await rest('POST', `/api/projects/${projectId}/brokers`, root, {
    name: 'b',
    url: 'mqtt://127.0.0.1:1',
  });
  const rootViewer = await viewerOf(root);
  found.broker = services.brokers.visible(body.id, rootViewer);
  found.project = services.projects.visible(projectId, rootViewer);
  const contextOf = async (token: string): Promise<RequestContext> => ({
    viewer: await viewerOf(token),
    requestId: 'r',
    address: '',
    db: storage.db,
    services,
  });

  const paths = Object.entries(FIELDS).flatMap(([name, value]) =>
    Array.isArray(value) ? value.map((_, index) => `${name}.${index}`) : [name],
  );
  const stranger = await contextOf((await service.person(null)).token);
  const refused = await leftBy(service, () => outcomes(stranger));
  const entry = { actorId: stranger.viewer?.id, result: 'REFUSED', code: 'NOT_FOUND' };
  expect(refused).toContainEqual(expect.objectContaining({ ...entry, operation: 'broker', targetId: body.id }));
  expect(refused).toContainEqual(expect.objectContaining({ ...entry, operation: 'project', targetId: projectId }));
  for (const { data, errors } of await outcomes(stranger)) {
    expect(data).toEqual({ ...FIELDS, ...holding(null), __typename: 'Query' });
    expect(errors).toEqual([...paths, ...HELD].sort().map((path) => [path, 'NOT_FOUND']));
  }

  const id = { id: body.id };
  const member = await contextOf((await service.person('VIEWER')).token);
  for (const { data, errors } of await outcomes(member)) {
    expect(errors).toEqual([]);
    expect(data).toEqual({
      ...holding(id),
      forgottenBroker: id,
      forgottenKind: id,
      forgottenNode: id,
      forgottenList: [id, id],
      forgottenPromises: [id],
      forgottenProject: { id: projectId },
      __typename: 'Query',
    });
  }
});
