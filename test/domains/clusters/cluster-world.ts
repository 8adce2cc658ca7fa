import { execFileSync } from 'node:child_process';
import { ADMIN, type Mosquitto, type MosquittoOptions, startMosquitto } from '../../support/mosquitto.ts';
import { startTestService, type TestService } from '../../support/service.ts';

/** A service with several brokers, and a cluster of them. */
export interface ClusterWorld {
  readonly service: TestService;
  readonly nodes: readonly ClusterWorldNode[];
  readonly clusterId: string;
  /** Of the broker entry that represents the cluster; `$c` of documents, as `$k` is the cluster. */
  readonly entryId: string;
  /** Runs a GraphQL operation with `$c` set to the cluster. Throws its errors. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read the fields that they selected.
  graph(document: string, variables?: Record<string, unknown>): Promise<any>;
}

export interface ClusterWorldNode {
  readonly broker: Mosquitto;
  readonly brokerId: string;
  readonly nodeId: number;
}

export const nodeInput = ({ brokerId, nodeId }: Pick<ClusterWorldNode, 'brokerId' | 'nodeId'>) => ({
  brokerId,
  nodeId,
  name: `node ${nodeId}`,
  address: '127.0.0.1',
  port: 7000 + nodeId,
});

export async function startNodes(
  service: TestService,
  count: number,
  options: MosquittoOptions = {},
): Promise<ClusterWorldNode[]> {
  const brokers = await Promise.all(
    Array.from({ length: count }, () => startMosquitto({ ...options, access: 'dynsec' })),
  );
  const nodes: ClusterWorldNode[] = [];
  for (const [index, broker] of brokers.entries()) {
    const path = `/api/projects/${service.projectId}/brokers`;
    const connection = { name: `m${index + 1}`, url: broker.url, ...ADMIN };
    const { body } = await service.rest('POST', path, service.root, connection);
    nodes.push({ broker, brokerId: body.id, nodeId: index + 1 });
  }
  return nodes;
}

export async function clusterWorld(
  count = 3,
  options: MosquittoOptions = {},
  env: Readonly<Record<string, string>> = {},
): Promise<ClusterWorld> {
  const service = await startTestService({ env });
  const nodes = await startNodes(service, count, options);
  const graph = async (document: string, variables: Record<string, unknown> = {}) => {
    const { data, errors } = await service.graphql(document, variables);
    if (errors) throw new Error(JSON.stringify(errors));
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    return data as any;
  };
  const input = { projectId: service.projectId, name: 'plant', mode: 'DYNSEC', nodes: nodes.map(nodeInput) };
  const { createCluster } = await graph(
    'mutation ($input: CreateClusterInput!) { createCluster(input: $input) { cluster { id brokerId } } }',
    { input },
  );
  const { id: clusterId, brokerId: entryId } = createCluster.cluster;
  const ids = { c: entryId, k: clusterId };
  return {
    service,
    nodes,
    clusterId,
    entryId,
    graph: (document, variables) => graph(document, { ...ids, ...variables }),
  };
}

/** Dynamic security of a broker without passwords, which differ between brokers. Empty texts are removed. */
export function accessOf({ broker }: ClusterWorldNode): unknown {
  const file = JSON.parse(broker.readAccessFile(), (_key, value) => (value === '' ? undefined : value));
  const named = (list: { [key: string]: unknown }[] = [], key: string) =>
    list
      .map(({ password: _, salt: __, iterations: ___, encoded_password: ____, ...rest }) => rest)
      .sort((one, other) => String(one[key]).localeCompare(String(other[key])));
  // Mosquitto 2.1 counts its changes.
  const { changeIndex: _, ...fields } = file;
  return {
    ...fields,
    clients: named(file.clients, 'username'),
    groups: named(file.groups, 'groupname'),
    roles: named(file.roles, 'rolename'),
  };
}

/** Another client of the broker changes its access control. */
export const control = ({ broker: { port } }: ClusterWorldNode, ...command: readonly string[]) =>
  execFileSync(
    'mosquitto_ctrl',
    ['-h', '127.0.0.1', '-p', String(port), '-u', ADMIN.username, '-P', ADMIN.password, 'dynsec', ...command],
    { stdio: 'ignore' },
  );
