import { type InputIssue, invalid, notFound, ServiceError } from '../../platform/errors.ts';
import type { Sealer } from '../../platform/storage/sealed.ts';
import { MAX_NAME, textIssues } from '../../platform/text/texts.ts';
import type { BrokerCache, BrokerRecord } from '../brokers/broker-cache.ts';
import type { BrokerConnectionInput } from '../brokers/broker-connection.ts';
import type { ClusterDirectory } from './cluster-directory.ts';
import type { ClusterNodeRecord, ClusterRecord, NewNode } from './model/cluster.ts';

/** A node as people describe it. What it says of a connection must be so in the broker's entry, by which the node is reached. */
export interface NodeInput extends NewNode, BrokerConnectionInput {}

const MAX_NODES = 32;
const MAX_ADDRESS = 255;
const LARGEST_PORT = 65_535;
/** A raft id is 32 bits wide. */
const LARGEST_NODE_ID = 2_147_483_647;

const PLAIN = ['username', 'caCert', 'caCertFile', 'clientCert', 'clientCertFile', 'clientKeyFile'] as const;
const SECRETS = { password: 'sealedPassword', clientKey: 'sealedClientKey' } as const;

interface Known {
  readonly brokers: BrokerCache;
  readonly clusters: ClusterDirectory;
  readonly sealer: Sealer;
}

/** Errors: INVALID with every issue. */
export function checkName(name: string): void {
  const issues = textIssues('input.name', name.trim(), { min: 1, max: MAX_NAME });
  if (issues.length > 0) throw invalid(issues);
}

/** Errors: INVALID with every issue. */
export function checkNodes(projectId: string, nodes: readonly NodeInput[], least: number, known: Known): void {
  if (nodes.length < least || nodes.length > MAX_NODES) {
    throw invalid([{ path: 'input.nodes', reason: `must be ${least} to ${MAX_NODES}` }]);
  }
  const issues = nodes.flatMap((node, index) => nodeIssues(`input.nodes.${index}`, projectId, node, known));
  for (const key of ['nodeId', 'brokerId'] as const) {
    const first = new Map<unknown, number>();
    for (const [index, node] of nodes.entries()) {
      const before = first.get(node[key]);
      if (before === undefined) first.set(node[key], index);
      else issues.push({ path: `input.nodes.${index}.${key}`, reason: `is that of node ${before} of the list, too` });
    }
  }
  if (issues.length > 0) throw invalid(issues);
}

/** Errors: INVALID with every issue. */
export function checkJoining(cluster: ClusterRecord, node: NodeInput, known: Known): void {
  const issues = nodeIssues('input', cluster.projectId, node, known);
  const { nodes } = cluster;
  if (nodes.some(({ nodeId }) => nodeId === node.nodeId)) {
    issues.push({ path: 'input.nodeId', reason: 'is that of another node' });
  }
  if (nodes.length >= MAX_NODES) issues.push({ path: 'input', reason: `a cluster has at most ${MAX_NODES} nodes` });
  if (issues.length > 0) throw invalid(issues);
}

function nodeIssues(path: string, projectId: string, node: NodeInput, known: Known): InputIssue[] {
  const { nodeId, brokerId, name, address, port } = node;
  const issues: InputIssue[] = [
    ...textIssues(`${path}.name`, name.trim(), { min: 1, max: MAX_NAME }),
    ...textIssues(`${path}.address`, address.trim(), { min: 1, max: MAX_ADDRESS }),
  ];
  const number = (key: string, value: number, largest: number) => {
    if (!Number.isInteger(value) || value < 1 || value > largest) {
      issues.push({ path: `${path}.${key}`, reason: `must be a whole number from 1 to ${largest}` });
    }
  };
  number('nodeId', nodeId, LARGEST_NODE_ID);
  number('port', port, LARGEST_PORT);
  const broker = known.brokers.get(brokerId);
  if (broker === null || broker.projectId !== projectId) {
    issues.push({ path: `${path}.brokerId`, reason: 'is no broker of the project' });
    return issues;
  }
  const reason = unfit(broker, known.clusters);
  if (reason !== null) issues.push({ path: `${path}.brokerId`, reason });
  issues.push(...connectionIssues(path, node, broker, known.sealer));
  return issues;
}

function unfit({ id, ha, url }: BrokerRecord, clusters: ClusterDirectory): string | null {
  const other = clusters.ofNode(id);
  if (other !== null) return `is a node of the cluster "${other.name}"`;
  if (ha || clusters.get(id) !== null) return 'stands for a cluster itself';
  return url === null ? 'has no address' : null;
}

/** A node is reached by its entry: what is told otherwise would be lost silently. */
function connectionIssues(path: string, node: NodeInput, broker: BrokerRecord, sealer: Sealer): InputIssue[] {
  const issue = (key: string): InputIssue => ({
    path: `${path}.${key}`,
    reason: 'is another one in the entry of the broker, by which the node is reached: change the entry first',
  });
  const issues: InputIssue[] = PLAIN.filter((key) => node[key] != null && node[key] !== broker[key]).map(issue);
  if (node.url != null && !sameAddress(node.url, broker.url)) issues.push(issue('url'));
  for (const key of ['password', 'clientKey'] as const) {
    const given = node[key];
    if (given == null || given === '***') continue;
    const sealed = broker[SECRETS[key]];
    if (sealed === null || sealer.open(sealed, `${broker.id}/${key}`) !== given) issues.push(issue(key));
  }
  return issues;
}

/** As they lead somewhere, however they are written. */
function sameAddress(given: string, stored: string | null): boolean {
  if (stored === null || !URL.canParse(given)) return false;
  return placeOf(given) === placeOf(stored);
}

function placeOf(url: string): string {
  const { protocol, host, pathname, search } = new URL(url);
  return `${protocol}//${host.toLowerCase()}${pathname.replace(/\/$/, '')}${search}`;
}

/** What is told of a node that is to join; the rest follows from the cluster and the broker's entry. */
export type JoiningNode = { readonly [Key in keyof NodeInput]?: NodeInput[Key] | null | undefined };

/** Which node leaves. */
export interface LeavingNode {
  readonly nodeId?: number | null | undefined;
  readonly brokerId?: string | null | undefined;
  readonly url?: string | null | undefined;
}

/** What is not told follows from the cluster and the broker's entry. Errors: INVALID (no broker is named). */
export function completedNode({ projectId, nodes }: ClusterRecord, node: JoiningNode, brokers: BrokerCache): NodeInput {
  const broker =
    node.brokerId == null
      ? brokers.ofProject(projectId).find(({ url, ha }) => node.url != null && sameAddress(node.url, url) && !ha)
      : brokers.get(node.brokerId);
  if (node.brokerId == null && broker == null) {
    throw invalid([{ path: 'input.brokerId', reason: 'is needed, or the url of a broker of the project' }]);
  }
  const host = broker?.url == null ? '' : new URL(broker.url).hostname;
  return {
    ...node,
    brokerId: broker?.id ?? node.brokerId ?? '',
    nodeId: node.nodeId ?? Math.max(0, ...nodes.map(({ nodeId }) => nodeId)) + 1,
    name: node.name ?? broker?.name ?? '',
    address: node.address ?? host,
    port: node.port ?? nodes[0]?.port ?? 0,
  };
}

/** The node that all describes which is given. Errors: INVALID, NOT_FOUND, IN_USE (there are only `least`). */
export function leavingNode(
  { name, nodes }: ClusterRecord,
  { nodeId, brokerId, url }: LeavingNode,
  { brokers, least }: { readonly brokers: BrokerCache; readonly least: number },
): ClusterNodeRecord {
  if (nodeId == null && brokerId == null && url == null) {
    throw invalid([{ path: 'input.nodeId', reason: 'is needed, or the broker of the node, or its url' }]);
  }
  const node = nodes.find(
    (one) =>
      (nodeId == null || one.nodeId === nodeId) &&
      (brokerId == null || one.brokerId === brokerId) &&
      (url == null || sameAddress(url, brokers.get(one.brokerId)?.url ?? null)),
  );
  if (node === undefined) throw notFound('node', String(nodeId ?? brokerId ?? url));
  if (nodes.length > least) return node;
  throw new ServiceError('IN_USE', `A cluster needs ${least} nodes: delete "${name}", or let another node join first`);
}
