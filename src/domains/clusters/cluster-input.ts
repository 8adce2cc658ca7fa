import { type InputIssue, invalid, notFound, ServiceError } from '../../platform/errors.ts';
import type { Sealer } from '../../platform/storage/encryption/sealed.ts';
import { MAX_NAME, textIssues } from '../../platform/text/texts.ts';
import type { Nullish } from '../../platform/without-nulls.ts';
import type { BrokerCache, BrokerRecord } from '../brokers/broker-cache.ts';
import type { BrokerConnectionInput } from '../brokers/broker-connection.ts';
import { SECRETS } from '../brokers/stored-secrets.ts';
import type { ClusterCache } from './cluster-cache.ts';
import type { ClusterNodeRecord, ClusterRecord, NewNode } from './model/cluster.ts';

/** Description of a node by a caller. Its connection fields must equal those of the broker entry. */
export interface NodeInput extends NewNode, BrokerConnectionInput {}

const MAX_NODES = 32;
const MAX_ADDRESS = 255;
const LARGEST_PORT = 65_535;
/** A raft id is 32 bits wide. */
const LARGEST_NODE_ID = 2_147_483_647;

const PLAIN = ['username', 'caCert', 'caCertFile', 'clientCert', 'clientCertFile', 'clientKeyFile'] as const;

interface Known {
  readonly brokers: BrokerCache;
  readonly cache: ClusterCache;
  readonly sealer: Sealer;
}

/** The columns of a node, without the connection that the caller may name. */
export const nodeData = ({ nodeId, brokerId, name, address, port }: NewNode): NewNode => ({
  nodeId,
  brokerId,
  name: name.trim(),
  address: address.trim(),
  port,
});

export function checkName(name: string): void {
  const issues = textIssues('input.name', name.trim(), { min: 1, max: MAX_NAME });
  if (issues.length > 0) throw invalid(issues);
}

export function checkNodes(projectId: string, nodes: readonly NodeInput[], least: number, known: Known): void {
  if (nodes.length < least || nodes.length > MAX_NODES) {
    throw invalid([{ path: 'input.nodes', reason: `must be ${least} to ${MAX_NODES}` }]);
  }
  const issues = nodes.flatMap((node, index) => nodeIssues(`input.nodes.${index}`, projectId, node, known));
  for (const key of ['nodeId', 'brokerId'] as const) {
    for (const [index, node] of nodes.entries()) {
      const first = nodes.findIndex((other) => other[key] === node[key]);
      const reason = `is already used by entry ${first} of the list`;
      if (first < index) issues.push({ path: `input.nodes.${index}.${key}`, reason });
    }
  }
  if (issues.length > 0) throw invalid(issues);
}

export function checkJoining(cluster: ClusterRecord, node: NodeInput, known: Known): void {
  const issues = nodeIssues('input', cluster.projectId, node, known);
  const { nodes } = cluster;
  if (nodes.some(({ nodeId }) => nodeId === node.nodeId)) {
    issues.push({ path: 'input.nodeId', reason: 'is already the number of another node' });
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
    issues.push({ path: `${path}.brokerId`, reason: 'is not a broker of the project' });
    return issues;
  }
  const reason = unusableReason(broker, known.cache);
  if (reason !== null) issues.push({ path: `${path}.brokerId`, reason });
  issues.push(...connectionIssues(path, node, broker, known.sealer));
  return issues;
}

function unusableReason({ id, ha, url }: BrokerRecord, clusters: ClusterCache): string | null {
  const other = clusters.ofNode(id);
  if (other !== null) return `is a node of the cluster "${other.name}"`;
  if (ha || clusters.get(id) !== null) return 'represents a cluster itself';
  return url === null ? 'has no address' : null;
}

/** The service connects to a node as its entry says, so different connection fields are refused. */
function connectionIssues(path: string, node: NodeInput, broker: BrokerRecord, sealer: Sealer): InputIssue[] {
  const reason =
    'differs from the entry of the broker, through which the service connects to the node: change the entry first';
  const issue = (key: string): InputIssue => ({ path: `${path}.${key}`, reason });
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

function sameAddress(given: string, stored: string | null): boolean {
  if (stored === null || !URL.canParse(given)) return false;
  return normalizedUrl(given) === normalizedUrl(stored);
}

function normalizedUrl(url: string): string {
  const { protocol, host, pathname, search } = new URL(url);
  return `${protocol}//${host.toLowerCase()}${pathname.replace(/\/$/, '')}${search}`;
}

export type JoiningNode = Nullish<NodeInput>;

export type LeavingNode = Nullish<Pick<NodeInput, 'nodeId' | 'brokerId' | 'url'>>;

/** Fills in the missing fields of a node that joins. Errors: INVALID (no broker is named). */
export function completeNode({ projectId, nodes }: ClusterRecord, node: JoiningNode, brokers: BrokerCache): NodeInput {
  const broker =
    node.brokerId == null
      ? brokers.ofProject(projectId).find(({ url, ha }) => node.url != null && sameAddress(node.url, url) && !ha)
      : brokers.get(node.brokerId);
  if (node.brokerId == null && broker == null) {
    throw invalid([{ path: 'input.brokerId', reason: 'is required, or the url of a broker of the project' }]);
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

/** Returns the node that matches all given fields. Errors: INVALID, NOT_FOUND, IN_USE (only `least` nodes). */
export function leavingNode(
  { name, nodes }: ClusterRecord,
  { nodeId, brokerId, url }: LeavingNode,
  { brokers, least }: { readonly brokers: BrokerCache; readonly least: number },
): ClusterNodeRecord {
  if (nodeId == null && brokerId == null && url == null) {
    throw invalid([{ path: 'input.nodeId', reason: 'is required, or the broker of the node, or its url' }]);
  }
  const node = nodes.find(
    (one) =>
      (nodeId == null || one.nodeId === nodeId) &&
      (brokerId == null || one.brokerId === brokerId) &&
      (url == null || sameAddress(url, brokers.get(one.brokerId)?.url ?? null)),
  );
  if (node === undefined) throw notFound('node', String(nodeId ?? brokerId ?? url));
  if (nodes.length > least) return node;
  throw new ServiceError(
    'IN_USE',
    `A cluster needs at least ${least} nodes: delete "${name}", or let another node join first`,
  );
}
