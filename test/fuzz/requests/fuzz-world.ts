import { createAuthority } from '../../support/certificates.ts';
import { PASSWORD, startTestService, type TestService, type TestServiceOptions } from '../../support/service.ts';
import type { Random } from '../random.ts';

/** Everything a request may name that exists, or existed until another request removed it. */
export interface KnownValues {
  /** A value for an argument, input field, key or path parameter of this name. */
  pick(random: Random, name: string): unknown;
}

export interface FuzzWorld {
  readonly known: KnownValues;
  /** Credentials by caller; `null`: none. */
  readonly callers: ReadonlyMap<string, string | null>;
}

const { cert } = createAuthority();

/** The service with an embedded broker. Whatever a request may make it connect to is on this machine. */
export const startFuzzService = (options: TestServiceOptions = {}): Promise<TestService> =>
  startTestService({
    ...options,
    embeddedBroker: true,
    env: { BROKER_ALLOWED_HOSTS: '127.0.0.1,localhost', ...options.env },
  });

/** A project with one object of each kind, and one caller of each kind. Each run creates a new project. */
export async function furnish(service: TestService): Promise<FuzzWorld> {
  const { services, storage } = service;
  const root = await storage.db.user.findFirstOrThrow({ where: { isRoot: true } });
  const rootToken = (await services.auth.sessions.open(root.id)).token;
  const name = `fuzz-${Date.now()}`;
  const { projectId, embeddedId } = await embeddedBroker(service, rootToken);
  const { data, errors } = await service.graphql(
    `mutation ($p: ID!, $c: String!, $n: String!) {
      broker: addBroker(input: { projectId: $p, name: $n, url: "mqtt://127.0.0.1:1" }) { broker { id } }
      token: createToken(input: { projectId: $p, name: $n, role: VIEWER }) { token { id } }
      certificate: createCertificate(input: { projectId: $p, filename: $n, cert: $c }) { certificate { id } }
    }`,
    { p: projectId, c: cert, n: name },
    rootToken,
  );
  if (errors) throw new Error(`The project could not be furnished: ${JSON.stringify(errors)}`);
  const awayId = data.broker.broker.id as string;
  const person = async (role: 'ADMIN' | 'EDITOR' | 'VIEWER' | null) => service.person(role, projectId);
  const issue = async (role: 'ADMIN' | 'VIEWER', brokerIds: readonly string[] | null) =>
    (await services.tokens.issue({ projectId, name: 'caller', role, brokerIds }, 'a test')).secret;
  const admin = await person('ADMIN');
  const callers = new Map<string, string | null>([
    ['nobody', null],
    ['root', rootToken],
    ['admin', admin.token],
    ['editor', (await person('EDITOR')).token],
    ['viewer', (await person('VIEWER')).token],
    ['stranger', (await person(null)).token],
    ['adminToken', await issue('ADMIN', null)],
    ['viewerToken', await issue('VIEWER', null)],
    ['restrictedToken', await issue('VIEWER', [awayId])],
    ['unknownToken', 'x'.repeat(43)],
  ]);
  return {
    callers,
    known: new WorldValues({
      projectIds: [projectId],
      brokerIds: [awayId, embeddedId],
      tokenIds: [data.token.token.id],
      certificateIds: [data.certificate.certificate.id],
      userIds: [admin.id],
      emails: [admin.email],
    }),
  };
}

/** The embedded broker and its project; both are created again after a request deleted them. */
async function embeddedBroker(
  { storage, graphql }: TestService,
  token: string,
): Promise<{ readonly projectId: string; readonly embeddedId: string }> {
  const known = await storage.db.broker.findFirst({ where: { type: 'CLOUD' } });
  if (known !== null) return { projectId: known.projectId, embeddedId: known.id };
  const { data: made } = await graphql(
    'mutation { createProject(input: { name: "fuzz" }) { project { id } } }',
    {},
    token,
  );
  const projectId = made.createProject.project.id;
  const { data } = await graphql(
    'mutation ($p: ID!) { createCloudBroker(input: { projectId: $p, name: "embedded" }) { broker { id } } }',
    { p: projectId },
    token,
  );
  return { projectId, embeddedId: data.createCloudBroker.broker.id };
}

interface WorldIds {
  readonly projectIds: readonly string[];
  readonly brokerIds: readonly string[];
  readonly tokenIds: readonly string[];
  readonly certificateIds: readonly string[];
  readonly userIds: readonly string[];
  readonly emails: readonly string[];
}

/** By the name of the argument, so that most requests reach what they are about. */
class WorldValues implements KnownValues {
  readonly #ids: WorldIds;

  constructor(ids: WorldIds) {
    this.#ids = ids;
  }

  pick(random: Random, name: string): unknown {
    const { projectIds, brokerIds, tokenIds, certificateIds, userIds, emails } = this.#ids;
    if (/project/i.test(name)) return random.pick(projectIds);
    if (/broker/i.test(name)) return random.pick(brokerIds);
    if (/token/i.test(name)) return random.pick(tokenIds);
    if (/cert/i.test(name)) return random.chance(0.5) ? random.pick(certificateIds) : cert;
    if (/user_?id/i.test(name)) return random.pick(userIds);
    if (/email/i.test(name)) return random.pick(emails);
    if (/password/i.test(name)) return PASSWORD;
    if (/user|client|group|role/i.test(name)) return random.pick(['admin', 'fuzz', 'fuzz-2']);
    if (/url/i.test(name)) return 'mqtt://127.0.0.1:1';
    if (/topic|filter/i.test(name)) return random.pick(['fuzz/a', 'fuzz/#', 'fuzz/+/b']);
    if (/^id$/i.test(name))
      return random.pick([...projectIds, ...brokerIds, ...tokenIds, ...certificateIds, ...userIds]);
    return random.pick(['fuzz', 'fuzz-2', ...brokerIds]);
  }
}
