import { graphql, type ResultOf } from '../graph/graphql.ts';

export const CLUSTER_STATUS = graphql(`subscription ClusterStatus($projectId: ID!, $after: SafeInt) {
  clusterStatus(projectId: $projectId, after: $after) {
    kind
    sequence
    clusters {
      clusterId
      state
      cluster { id name brokerId mode keeper autoRepair viewerCanUpdate viewerCanDelete }
      nodes {
        id
        nodeId
        name
        address
        port
        brokerId
        broker { id name }
        isReachable
        isLeader
        lag
        error { message }
        raft { state term }
        sync {
          state since differenceCount differences { kind name } missingPasswords
          differingRules { roleName aclType topic }
        }
      }
    }
  }
}`);

export type StatusEvent = ResultOf<typeof CLUSTER_STATUS>['clusterStatus'];
type Status = StatusEvent['clusters'][number];
export type ClusterNode = Status['nodes'][number];
export type Cluster = NonNullable<Status['cluster']> & Pick<Status, 'state' | 'nodes'>;

/** By id, in the order of creation. */
export function apply(before: ReadonlyMap<string, Cluster> | null, { clusters }: StatusEvent) {
  const all = new Map(before);
  for (const { clusterId, cluster, state, nodes } of clusters) {
    if (cluster === null) all.delete(clusterId);
    else all.set(clusterId, { ...cluster, state, nodes });
  }
  return all;
}
