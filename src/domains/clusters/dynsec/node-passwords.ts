import { ServiceError } from '../../../platform/errors.ts';
import type { PasswordCopies } from '../../access-control/writing/password-copies.ts';
import type { BrokerCache, BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ClusterNodeRecord, ClusterRecord } from '../model/cluster.ts';
import type { SyncStore } from './sync-store.ts';

interface NodePasswordsOptions {
  readonly brokers: BrokerCache;
  readonly runtimes: BrokerRuntimes;
  readonly store: SyncStore;
  readonly passwordCopies: PasswordCopies;
  readonly nodes: ClusterNodes;
}

interface ClusterNodes {
  readonly record: ClusterRecord;
  node(nodeId: number): ClusterNodeRecord;
  broker(nodeId: number): BrokerRecord;
}

/** Copies passwords that a node lacks from other nodes of its cluster. */
export class NodePasswords {
  readonly #options: NodePasswordsOptions;

  constructor(options: NodePasswordsOptions) {
    this.#options = options;
  }

  canCopy(nodeId: number): boolean {
    const { nodes } = this.#options;
    const { missingPasswords } = nodes.node(nodeId);
    if (missingPasswords.length === 0) return false;
    return this.#sourcesFor(nodeId).some((source) =>
      missingPasswords.some((username) => !source.missingPasswords.includes(username)),
    );
  }

  async copyMissing(nodeId: number): Promise<void> {
    const { nodes, store } = this.#options;
    const { missingPasswords } = nodes.node(nodeId);
    const copied = await this.copy(nodeId, missingPasswords);
    if (copied.size === 0) return;
    const left = missingPasswords.filter((username) => !copied.has(username));
    await store.updateNode(nodes.record.id, nodeId, { missingPasswords: left });
  }

  /** Copies passwords to the node, and returns the copied accounts. Passwords that cannot be copied stay missing. */
  async copy(nodeId: number, usernames: readonly string[]): Promise<ReadonlySet<string>> {
    const { passwordCopies, nodes } = this.#options;
    const to = nodes.broker(nodeId);
    const copied = new Set<string>();
    for (const source of this.#sourcesFor(nodeId)) {
      const from = nodes.broker(source.nodeId);
      // Accounts of this service, which have a different password on each broker.
      const own = new Set([to.username, from.username]);
      const known = new Set([...copied, ...own, ...source.missingPasswords]);
      const wanted = usernames.filter((username) => !known.has(username));
      if (wanted.length === 0) continue;
      try {
        for (const username of await passwordCopies.copy(from, to, wanted)) copied.add(username);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
      }
    }
    return copied;
  }

  #sourcesFor(nodeId: number): readonly ClusterNodeRecord[] {
    const { passwordCopies, brokers, runtimes, nodes } = this.#options;
    const { record } = nodes;
    const canCopy = ({ brokerId }: ClusterNodeRecord) => {
      const broker = brokers.get(brokerId);
      return broker !== null && passwordCopies.serves(broker) && runtimes.isConnected(brokerId);
    };
    if (!canCopy(nodes.node(nodeId))) return [];
    return record.nodes.filter((node) => node.nodeId !== nodeId && node.revision === record.revision && canCopy(node));
  }
}
