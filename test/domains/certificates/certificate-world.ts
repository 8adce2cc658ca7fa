import {
  type GraphqlAnswer,
  startTestService,
  type TestService,
  type TestServiceOptions,
} from '../../support/service.ts';

type Variables = Record<string, unknown>;
type GraphError = NonNullable<GraphqlAnswer['errors']>[number];

/** A complete service. Requests are sent as the root administrator unless a token is given. */
interface CertificateWorld {
  readonly service: TestService;
  /** Runs the mutation `name`. Throws its errors. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read the fields that they selected.
  change(name: string, input: Variables, selection: string, token?: string): Promise<any>;
  refused(name: string, input: Variables, token?: string): Promise<GraphError>;
  /** Returns the id of the new object. */
  store(filename: string, cert: string, privateKey?: string, token?: string): Promise<string>;
  deploy(certificateId: string, brokers: readonly Target[], token?: string): Promise<readonly Result[]>;
  undeploy(certificateId: string, brokers: readonly Target[], token?: string): Promise<readonly Result[]>;
  /** Recorded deployments of a certificate as `port bindAddress`. */
  deployments(certificateId: string, token?: string): Promise<readonly string[]>;
  addBroker(url: string, name?: string): Promise<string>;
  rest: TestService['rest'];
}

interface Target {
  readonly brokerId: string;
  readonly listeners: readonly { readonly port: number; readonly bindAddress?: string }[];
}

interface Result {
  readonly brokerId: string;
  readonly error: string | null;
  readonly succeed: readonly { readonly port: number; readonly bindAddress: string | null }[];
  readonly failed: readonly {
    readonly port: number;
    readonly bindAddress: string | null;
    readonly error: string;
    readonly code: string;
    readonly isUnknown: boolean;
  }[];
}

const RESULTS =
  'results { brokerId error succeed { port bindAddress } failed { port bindAddress error code isUnknown } }';

export async function certificateWorld(options?: TestServiceOptions): Promise<CertificateWorld> {
  const service = await startTestService(options);
  const mutation = (name: string, selection: string) =>
    `mutation ($input: ${name.charAt(0).toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { ${selection} } }`;
  const change: CertificateWorld['change'] = async (name, input, selection, token) => {
    const { data, errors } = await service.graphql(mutation(name, selection), { input }, token);
    if (errors) throw new Error(JSON.stringify(errors));
    return data[name];
  };
  const deploying =
    (name: string): CertificateWorld['deploy'] =>
    async (certificateId, brokers, token) =>
      (await change(name, { certificateId, brokers }, RESULTS, token)).results;
  return {
    service,
    change,
    refused: async (name, input, token) => {
      const { data, errors } = await service.graphql(mutation(name, '__typename'), { input }, token);
      if (!errors?.[0]) throw new Error(`Not refused: ${JSON.stringify(data)}`);
      return errors[0];
    },
    store: async (filename, cert, privateKey, token) => {
      const input = { projectId: service.projectId, filename, cert, privateKey };
      return (await change('createCertificate', input, 'certificate { id }', token)).certificate.id;
    },
    deploy: deploying('deployCertificate'),
    undeploy: deploying('undeployCertificate'),
    deployments: async (id, token) => {
      const query = 'query ($id: ID!) { node(id: $id) { ... on Certificate { deployments { port bindAddress } } } }';
      const { data, errors } = await service.graphql(query, { id }, token);
      if (errors) throw new Error(JSON.stringify(errors));
      return data.node.deployments.map((one: { port: number; bindAddress: string | null }) =>
        `${one.port} ${one.bindAddress ?? ''}`.trim(),
      );
    },
    addBroker: async (url, name = 'plant') => {
      const path = `/api/projects/${service.projectId}/brokers`;
      return (await service.rest('POST', path, service.root, { name, url })).body.id;
    },
    rest: service.rest,
  };
}
