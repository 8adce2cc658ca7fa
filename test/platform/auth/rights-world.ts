import {
  type GraphQLInputType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
} from 'graphql';
import { expect } from 'vitest';
import { swapClusterId } from '../../../src/gateway/cluster-id.ts';
import type { ErrorCode } from '../../../src/platform/errors.ts';
import { newId } from '../../../src/platform/ids.ts';
import { createAuthority } from '../../support/certificates.ts';
import { bearer, PASSWORD, startTestService, type TestService } from '../../support/service.ts';
import type { Field, RootKind } from './rights-model.ts';

/** A service and, in one of its projects, one of everything that a caller may name. */
export interface World extends TestService {
  readonly brokerId: string;
  readonly tokenId: string;
  readonly certificateId: string;
  readonly clusterId: string;
  readonly ruleId: string;
  readonly jobId: string;
  readonly problemId: string;
  readonly silenceId: string;
  readonly channelId: string;
}

const { cert } = createAuthority();

/** A cluster of unreachable brokers, written to the database as another process would do it. */
async function clusterIn({ storage, rest, graphql, root }: TestService, projectId: string): Promise<string> {
  const [one, other, entry] = await Promise.all(
    ['one', 'other', 'cluster'].map(async (name) => {
      const url = 'mqtt://127.0.0.1:1';
      return (await rest('POST', `/api/projects/${projectId}/brokers`, root, { name, url })).body.id as string;
    }),
  );
  const nodes = [one, other].map((brokerId = '', index) => ({
    nodeId: index + 1,
    brokerId,
    name: 'n',
    address: '127.0.0.1',
    port: 7000,
  }));
  const id = entry ?? '';
  const cluster = { id, name: 'text@example.com', mode: 'DYNSEC', keeper: 'GATEWAY' } as const;
  await storage.db.cluster.create({ data: { ...cluster, nodes: { create: nodes } } });
  await storage.changes.announce('cluster', id);
  const FIND = 'query ($id: ID!) { broker(id: $id) { cluster { id } } }';
  await expect.poll(async () => (await graphql(FIND, { id })).data.broker.cluster).not.toBeNull();
  return swapClusterId(id);
}

/**
 * The service with a new project that has a broker, a token, a certificate, a rule and, by default, a cluster, which
 * takes longer than all the rest.
 */
export async function furnished(service: TestService, { isStrict = false, withCluster = true } = {}): Promise<World> {
  const { data: made } = await service.graphql('mutation { createProject(input: { name: "p" }) { project { id } } }');
  const projectId = made.createProject.project.id;
  const { body } = await service.rest('POST', `/api/projects/${projectId}/brokers`, service.root, {
    name: 'b',
    url: 'mqtt://127.0.0.1:1',
  });
  const { data } = await service.graphql(
    `mutation ($p: ID!, $c: String!, $s: Boolean!) {
      createToken(input: { projectId: $p, name: "t", role: VIEWER }) { token { id } }
      createCertificate(input: { projectId: $p, filename: "ca.pem", cert: $c }) { certificate { id } }
      createSignInRules(input: { projectId: $p, rules: [{ provider: SSO, pattern: "x", role: VIEWER }] }) { rules { id } }
      updateProject(input: { projectId: $p, hasStrictRoles: $s }) { project { id } }
      createNotificationChannel(input: { projectId: $p, name: "c", isActive: false,
        target: { webhook: { url: "http://127.0.0.1:1/" } } }) { notificationChannel { id } }
    }`,
    { p: projectId, c: cert, s: isStrict },
  );
  const jobId = newId('job');
  const job = { id: jobId, kind: 'RETAINED_DELETION', brokerId: body.id, subject: '', request: '{}' } as const;
  await service.storage.db.job.create({ data: { ...job, state: 'DONE', startedAt: new Date(), endedAt: new Date() } });
  const problemId = newId('problem');
  await service.storage.db.problem.create({ data: { ...PROBLEM, id: problemId, projectId, brokerId: body.id } });
  const silence = { id: newId('problemSilence'), projectId, until: inAnHour(), reason: 'x', createdBy: 'x' };
  await service.storage.db.problemSilence.create({ data: silence });
  await service.services.problems.load();
  return {
    ...service,
    projectId,
    person: (role, project = projectId) => service.person(role, project),
    brokerId: body.id,
    tokenId: data.createToken.token.id,
    certificateId: data.createCertificate.certificate.id,
    jobId,
    problemId,
    silenceId: silence.id,
    channelId: data.createNotificationChannel.notificationChannel.id,
    ruleId: data.createSignInRules.rules[0].id,
    clusterId: withCluster ? await clusterIn(service, projectId) : 'unknown',
  };
}

const inAnHour = () => new Date(Date.now() + 3_600_000);
const closedAt = new Date();
/** A closed one: facts change nothing about it. */
const PROBLEM = {
  ...{ kind: 'BROKER_UNREACHABLE', severity: 'CRITICAL', subjectName: 'b', detail: '', key: 'k' },
  ...{ openedAt: closedAt, closedAt, lastSeenAt: closedAt },
};

export const startWorld = async (): Promise<World> => furnished(await startTestService());

/** Whether what it was furnished with is still there. */
export async function isWhole(world: World): Promise<boolean> {
  const { graphql, storage, projectId, brokerId, tokenId, certificateId, clusterId, ruleId, channelId } = world;
  const { data } = await graphql(
    'query ($p: ID!, $b: ID!, $t: ID!, $c: ID!, $k: ID!) { p: node(id: $p) { id } b: node(id: $b) { id } t: node(id: $t) { id } c: node(id: $c) { id } k: node(id: $k) { id } }',
    { p: projectId, b: brokerId, t: tokenId, c: certificateId, k: clusterId },
  );
  const isRuleThere = (await storage.db.signInRule.count({ where: { id: ruleId } })) === 1;
  const isChannelThere = (await storage.db.notificationChannel.count({ where: { id: channelId } })) === 1;
  return isRuleThere && isChannelThere && Object.values(data).every((found) => found !== null);
}

/** What people type: something that may be, or what no service takes. */
export const POSSIBLE = 'text@example.com';
/** Refused by whatever looks at it, before anything happens. */
export const IMPOSSIBLE = '\0';

/** A value that the schema accepts, naming what is there. */
function valueFor(type: GraphQLInputType, name: string, parent: string, ids: World, text: string): unknown {
  if (isNonNullType(type)) return valueFor(type.ofType, name, parent, ids, text);
  if (isListType(type)) return [valueFor(type.ofType, name, parent, ids, text)];
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields());
    const required = type.isOneOf ? fields.slice(0, 1) : fields.filter(isNeeded);
    return Object.fromEntries(
      required.map((field) => [field.name, valueFor(field.type, field.name, parent, ids, text)]),
    );
  }
  if (isEnumType(type)) return type.getValues()[0]?.name;
  if (type.name === 'DateTime') return inAnHour().toISOString();
  if (isLeafType(type) && type.name === 'ID') {
    if (name === 'fromBrokerId' || (name === 'id' && parent === 'broker')) return ids.brokerId;
    if (name === 'id' && parent === 'project') return ids.projectId;
    if (name === 'id' && parent === 'job' && 'jobId' in ids) return ids.jobId;
    return name in ids ? (ids as unknown as Record<string, unknown>)[name] : 'usr_0000000000unknown';
  }
  if (type.name === 'Int') return 1;
  if (type.name === 'Boolean') return false;
  return name === 'currentPassword' ? PASSWORD : text;
}

/** Without a project, some fields are about the service itself. */
const isNeeded = ({ name, type }: { readonly name: string; readonly type: GraphQLInputType }) =>
  isNonNullType(type) || name === 'projectId';

const requiredOf = (field: Field) => field.args.filter(isNeeded);

/** A field with what it cannot do without, and the variables for that. */
export function selectionOf(field: Field): { readonly variables: string; readonly text: string } {
  const required = requiredOf(field);
  const args = required.map(({ name }) => `${name}: $${name}`).join(', ');
  const selection = isLeafType(getNamedType(field.type)) ? '' : ' { __typename }';
  return {
    variables: required.map(({ name, type }) => `$${name}: ${type}`).join(', '),
    text: `${field.name}${args && `(${args})`}${selection}`,
  };
}

export function documentFor(kind: RootKind, field: Field): string {
  const { variables, text } = selectionOf(field);
  return `${kind} ${variables && `(${variables})`} { ${text} }`;
}

export const variablesFor = (field: Field, ids: World, text = POSSIBLE): Record<string, unknown> =>
  Object.fromEntries(requiredOf(field).map(({ name, type }) => [name, valueFor(type, name, field.name, ids, text)]));

type Code = ErrorCode | undefined;

/** The code that a document is refused with; of subscriptions by their first event. */
export async function codeOf(
  ids: World,
  kind: RootKind,
  document: string,
  variables: Record<string, unknown>,
  token: string | null,
): Promise<Code> {
  if (kind !== 'subscription') {
    return (await ids.graphql(document, variables, token)).errors?.[0]?.extensions.code as Code;
  }
  const response = await fetch(`${ids.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...bearer(token) },
    body: JSON.stringify({ query: document, variables }),
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!/"(code|data)":/.test(text)) {
    const chunk = await reader?.read();
    if (!chunk || chunk.done) break;
    text += chunk.value;
  }
  await reader?.cancel();
  return /"code":"(\w+)"/.exec(text)?.[1] as Code;
}
