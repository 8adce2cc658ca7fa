import type { Memberships } from '../../cloud-brokers/cloud-brokers.ts';
import type { Membership } from '../../cloud-brokers/cloud-engines.ts';
import type { Stop } from '../../mqtt/broker-session.ts';
import type { ClusterDirectory } from '../cluster-directory.ts';
import { type ClusterRecord, isShared } from '../model/cluster.ts';

/**
 * As what nodes brokers of this service have to run, by the rows of their clusters: from when a node has the access control of its
 * cluster, for nobody must get in who may not; the one that the cluster begins with before all others.
 */
export class SharedMemberships implements Memberships {
  readonly #directory: ClusterDirectory;

  constructor(directory: ClusterDirectory) {
    this.#directory = directory;
  }

  of(brokerId: string): Membership | null {
    const cluster = this.#directory.ofNode(brokerId);
    return cluster && membershipIn(cluster, brokerId);
  }

  onChange(listener: (brokerId: string) => void): Stop {
    return this.#directory.onChange((after, before) => {
      const nodes = [...(before?.nodes ?? []), ...(after?.nodes ?? [])];
      for (const brokerId of new Set(nodes.map((node) => node.brokerId))) {
        const was = before && membershipIn(before, brokerId);
        const is = after && membershipIn(after, brokerId);
        if ((was === null) !== (is === null) || was?.nodeId !== is?.nodeId || was?.mode !== is?.mode)
          listener(brokerId);
      }
    });
  }
}

function membershipIn(cluster: ClusterRecord, brokerId: string): Membership | null {
  const { id, mode, seed, nodes } = cluster;
  const node = nodes.find((one) => one.brokerId === brokerId);
  if (mode === 'DYNSEC' || !isShared(cluster) || node === undefined || node.revision === null) return null;
  const isSeed = seed === node.nodeId;
  if (seed !== null && !isSeed) return null;
  return { clusterId: id, nodeId: node.nodeId, mode, isSeed };
}
