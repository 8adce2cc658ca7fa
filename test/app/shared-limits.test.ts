import { describe, expect, test } from 'vitest';
import { createSelfSigned } from '../support/certificates.ts';
import { UNAVAILABLE, usePostgres } from '../support/postgres.ts';
import type { TestService } from '../support/service.ts';
import { startTestServices } from '../support/services.ts';
import { shared } from '../support/shared.ts';

const postgres = usePostgres();

const ATTEMPTS = 24;
const FREE = 7;

describe.skipIf(!postgres.available)(
  `three services on one PostgreSQL ${postgres.available ? '' : `(${UNAVAILABLE})`}`,
  () => {
    let services: readonly TestService[] = [];
    let first: TestService;

    const use = (started: readonly TestService[]) => {
      services = started;
      first = started[0] as TestService;
    };
    const limits = { MAX_PROJECTS_PER_USER: `${FREE}`, MAX_BROKERS_PER_PROJECT: `${FREE}` };
    const withLimits = shared(() => startTestServices(postgres, 3, limits));

    /** Sends 24 mutations at the same time, in turn to each service. Returns how often each code came. */
    async function atOnce(
      field: string,
      type: string,
      inputOf: (n: number) => object,
      token = first.root,
    ): Promise<Record<string, number>> {
      const mutation = `mutation ($input: ${type}!) { ${field}(input: $input) { __typename } }`;
      const counts: Record<string, number> = {};
      const all = Array.from({ length: ATTEMPTS }, async (_, n) => {
        const service = services[n % services.length] as TestService;
        const { errors } = await service.graphql(mutation, { input: inputOf(n) }, token);
        const code = errors?.[0]?.extensions.code ?? 'CREATED';
        counts[code] = (counts[code] ?? 0) + 1;
      });
      await Promise.all(all);
      return counts;
    }

    test('projects and organizations of a user', async () => {
      use(await withLimits());
      const { token } = await first.person(null);
      const expected = { CREATED: FREE, INVALID: ATTEMPTS - FREE };
      expect(await atOnce('createProject', 'CreateProjectInput', (n) => ({ name: `p${n}` }), token)).toEqual(expected);
      const organization = (n: number) => ({ name: `o${n}` });
      expect(await atOnce('createOrganization', 'CreateOrganizationInput', organization, token)).toEqual(expected);
    });

    test('brokers, tokens, certificates and sign-in rules of a project', async () => {
      use(await withLimits());
      const { projectId } = first;
      const { db } = first.storage;
      const brokers = await atOnce('addBroker', 'AddBrokerInput', (n) => ({
        projectId,
        name: `b${n}`,
        url: 'mqtt://127.0.0.1:1',
      }));
      expect(brokers).toEqual({ CREATED: FREE, INVALID: ATTEMPTS - FREE });
      expect(await db.broker.count()).toBe(FREE);

      const numbers = Array.from({ length: 1_000 - FREE }, (_, n) => n);
      const token = { projectId, name: 't', role: 'VIEWER', type: 'UNRESTRICTED', issuer: 'a test' } as const;
      await db.projectToken.createMany({ data: numbers.map((n) => ({ id: `tok_${n}`, tokenHash: `${n}`, ...token })) });
      const tokens = await atOnce('createToken', 'CreateTokenInput', (n) => ({
        projectId,
        name: `t${n}`,
        role: 'VIEWER',
      }));
      expect(tokens).toEqual({ CREATED: FREE, INVALID: ATTEMPTS - FREE });
      expect(await db.projectToken.count()).toBe(1_000);

      const { cert, key: privateKey } = createSelfSigned();
      const row = { projectId, name: 'c', cert };
      await db.certificate.createMany({ data: numbers.map((n) => ({ id: `crt_${n}`, filename: `${n}.pem`, ...row })) });
      const certificates = await atOnce('createCertificate', 'CreateCertificateInput', (n) => ({
        projectId,
        filename: `new-${n}.pem`,
        cert,
        privateKey,
      }));
      expect(certificates).toEqual({ CREATED: FREE, INVALID: ATTEMPTS - FREE });
      expect(await db.certificate.count()).toBe(1_000);

      const rules = await atOnce('createSignInRules', 'CreateSignInRulesInput', (n) => ({
        projectId,
        rules: Array.from({ length: 10 }, (_, m) => ({ provider: 'SSO', pattern: `g${n}-${m}`, role: 'VIEWER' })),
      }));
      expect(rules).toEqual({ CREATED: 10, IN_USE: ATTEMPTS - 10 });
    });

    test('cloud brokers of a project, and of all projects', async () => {
      // The first process has created the first broker of another project.
      const env = { MAX_CLOUD_BROKERS_PER_PROJECT: '2', MAX_CLOUD_BROKERS: '5' };
      use(await startTestServices(postgres, 3, env, { embeddedBroker: true }));
      const { createProject } = (
        await first.graphql('mutation { createProject(input: { name: "P" }) { project { id } } }')
      ).data;
      const projectId = createProject.project.id;
      const { token } = await first.person('ADMIN', projectId);
      const broker = (n: number) => ({ projectId, name: `b${n}` });
      const ofAdmin = await atOnce('createCloudBroker', 'CreateCloudBrokerInput', broker, token);
      expect(ofAdmin).toEqual({ CREATED: 2, INVALID: ATTEMPTS - 2 });
      const ofRoot = await atOnce('createCloudBroker', 'CreateCloudBrokerInput', broker);
      expect(ofRoot).toEqual({ CREATED: 2, INVALID: ATTEMPTS - 2 });
    });
  },
);
