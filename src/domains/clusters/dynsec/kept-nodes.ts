import { notFound, ServiceError } from '../../../platform/errors.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import type { OneAccess } from '../../access-control/access-control-service.ts';
import type { AccessDocument } from '../../access-control/documents/access-document.ts';
import type { AccessPolicy } from '../../access-control/policy/access-model.ts';
import type { AccessChange } from '../../access-control/writing/access-change.ts';
import type { WriteReport } from '../../access-control/writing/access-report.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { ClusterNodeRecord, ClusterRecord } from '../model/cluster.ts';
import type { ClusterRows } from './cluster-rows.ts';
import { differencesOf } from './differences.ts';
import { differencesTo, type NodeAccess, type NodePlan, planTowards } from './node-access.ts';
import type { NodeStates } from './node-states.ts';
import type { PasswordCopies } from './password-copies.ts';

export interface KeptNodesOptions {
  readonly id: string;
  readonly recordOf: () => ClusterRecord | null;
  readonly brokerOf: (brokerId: string) => BrokerRecord | null;
  readonly isConnected: (brokerId: string) => boolean;
  readonly access: NodeAccess;
  readonly rows: ClusterRows;
  readonly states: NodeStates;
  readonly passwordCopies: PasswordCopies;
}

/** A node that goes away meanwhile is brought to the document when it is back: nobody waits for what became of it. */
export const FOLLOWER_MS = 500;

/** What is known beside what is stored, when a node is brought to the document. */
export interface Known {
  /** Accounts whose password it may not have. */
  readonly lacking?: readonly string[];
  /** Passwords that are at hand, by account; null: it has none. */
  readonly passwords?: ReadonlyMap<string, string | null>;
}

interface Compared {
  readonly document: AccessDocument;
  readonly policy: AccessPolicy;
  readonly username: string | null;
  readonly changes: readonly AccessChange[];
}

/**
 * The nodes of one cluster, each by itself: how it stands to the document, and how it comes to have it. Who calls has the turn, except for
 * `differences`. Errors of all: those of the node, NOT_FOUND (it left, or the cluster is gone).
 */
export class KeptNodes {
  readonly #options: KeptNodesOptions;
  /** By node: the last comparison. */
  readonly #compared = new Map<number, Compared>();

  constructor(options: KeptNodesOptions) {
    this.#options = options;
  }

  get record(): ClusterRecord {
    const record = this.#options.recordOf();
    if (record === null) throw notFound('cluster', this.#options.id);
    return record;
  }

  of(nodeId: number): ClusterNodeRecord {
    const node = this.record.nodes.find((one) => one.nodeId === nodeId);
    if (node === undefined) throw notFound('node', String(nodeId));
    return node;
  }

  broker(nodeId: number): BrokerRecord {
    const { brokerId } = this.of(nodeId);
    const broker = this.#options.brokerOf(brokerId);
    if (broker === null) throw notFound('broker', brokerId);
    return broker;
  }

  access(nodeId: number): Promise<OneAccess> {
    return this.#options.access.alone(this.broker(nodeId));
  }

  isBehind(nodeId: number): boolean {
    return this.of(nodeId).revision !== this.record.revision;
  }

  /** As it was found last. */
  isEqual(nodeId: number): boolean {
    return this.#options.states.of(nodeId).state === 'EQUAL';
  }

  /** What it would have to change. Of what was compared already, at once. */
  async differences(nodeId: number): Promise<readonly AccessChange[]> {
    const { document } = this.record;
    if (document === null) return [];
    const { index } = await this.access(nodeId);
    const now = await index.current();
    const { username } = this.broker(nodeId);
    const before = this.#compared.get(nodeId);
    if (before?.document === document && before.policy === now.policy && before.username === username) {
      return before.changes;
    }
    const changes = await differencesTo(now, document, username);
    this.#compared.set(nodeId, { document, policy: now.policy, username, changes });
    return changes;
  }

  /** Brings it to the document where it is behind, and with `autoRepair` where somebody else changed it; whether it is there then. */
  async settle(nodeId: number): Promise<boolean> {
    const isBehind = this.isBehind(nodeId);
    const differences = isBehind ? [] : await this.differences(nodeId);
    if (isBehind || (differences.length > 0 && this.record.autoRepair)) await this.bring(nodeId);
    else {
      if (this.lacksWhatOthersHave(nodeId)) await this.#copyPasswords(nodeId);
      this.found(nodeId, differences);
    }
    return differences.length === 0 || this.record.autoRepair;
  }

  /**
   * Makes it equal to the document, whoever changed it. True: something was changed. Errors: as of a write, BROKER_REJECTED among them; it
   * stays as it is told.
   */
  async bring(nodeId: number, known: Known = {}): Promise<boolean> {
    const { id, rows } = this.#options;
    const { document, revision } = this.record;
    if (document === null) return false;
    const { writer, index } = await this.access(nodeId);
    const plan = await this.#plan(nodeId, document, index, known);
    // Whatever happens on the way: an account that is made without its password is not forgotten.
    if (plan.lackingMeanwhile.join('\0') !== this.of(nodeId).missingPasswords.join('\0')) {
      await rows.nodeHas(id, nodeId, { missingPasswords: plan.lackingMeanwhile });
    }
    if (plan.changes.length > 0)
      checkTaken(await writer.write(plan.changes, { dryRun: false, mayControl: true, readBackMs: FOLLOWER_MS }));
    const { missingPasswords, revision: before } = this.of(nodeId);
    // What it had before may have another password under the same name.
    const wanted = before === null ? document.clients.map(({ username }) => username) : plan.lackingAfter;
    const copied = await this.#copied(nodeId, wanted);
    const lackingAfter = plan.lackingAfter.filter((username) => !copied.has(username));
    if (before !== revision || missingPasswords.length !== lackingAfter.length) {
      await rows.nodeHas(id, nodeId, { revision, missingPasswords: lackingAfter });
    }
    this.found(nodeId, []);
    return plan.changes.length > 0;
  }

  /** Whether it would take all of it. Errors: BROKER_REJECTED, with the first reason. */
  async tryOut(nodeId: number, document: AccessDocument): Promise<void> {
    const { writer, index } = await this.access(nodeId);
    const { changes } = await this.#plan(nodeId, document, index);
    if (changes.length > 0) checkTaken(await writer.write(changes, { dryRun: true, mayControl: true }));
  }

  /** Passwords that can be given to it without anybody's doing. */
  lacksWhatOthersHave(nodeId: number): boolean {
    const { missingPasswords } = this.of(nodeId);
    if (missingPasswords.length === 0) return false;
    return this.#sourcesFor(nodeId).some((source) => missingPasswords.some((username) => !lacks(source, username)));
  }

  /** How it was found. */
  found(nodeId: number, differences: readonly AccessChange[]): void {
    const { states } = this.#options;
    if (differences.length === 0) states.set(nodeId, { state: 'EQUAL' });
    else states.set(nodeId, { state: 'DRIFTED', differences: differencesOf(differences) });
  }

  /** Takes a failure of it down. Errors: what is no failure of a node, but a bug. */
  failed(nodeId: number, error: unknown): ServiceError {
    if (!(error instanceof ServiceError)) throw error;
    this.#options.states.set(nodeId, { state: this.isBehind(nodeId) ? 'BEHIND' : 'UNKNOWN', error });
    return error;
  }

  /** Why it is behind. */
  problemOf(nodeId: number): ServiceError {
    const { error } = this.#options.states.of(nodeId);
    return error ?? new ServiceError('BROKER_UNREACHABLE', `Node ${nodeId} lacks earlier changes`);
  }

  async #copyPasswords(nodeId: number): Promise<void> {
    const { missingPasswords } = this.of(nodeId);
    const copied = await this.#copied(nodeId, missingPasswords);
    if (copied.size === 0) return;
    const left = missingPasswords.filter((username) => !copied.has(username));
    await this.#options.rows.nodeHas(this.#options.id, nodeId, { missingPasswords: left });
  }

  /** Those of the accounts that it has the password of now. What cannot be copied stays missing: it is no failure of the node. */
  async #copied(nodeId: number, usernames: readonly string[]): Promise<ReadonlySet<string>> {
    const { passwordCopies } = this.#options;
    const to = this.broker(nodeId);
    const copied = new Set<string>();
    for (const source of this.#sourcesFor(nodeId)) {
      const from = this.broker(source.nodeId);
      // Accounts of this service itself, each with a password of its broker.
      const own = new Set([to.username, from.username]);
      const wanted = usernames.filter(
        (username) => !copied.has(username) && !own.has(username) && !lacks(source, username),
      );
      if (wanted.length === 0) continue;
      try {
        for (const username of await passwordCopies.copy(from, to, wanted)) copied.add(username);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
      }
    }
    return copied;
  }

  /** Nodes whose passwords are those of the cluster, and can be copied to this one. */
  #sourcesFor(nodeId: number): readonly ClusterNodeRecord[] {
    const { passwordCopies, brokerOf, isConnected } = this.#options;
    const { nodes, revision } = this.record;
    const canCopy = ({ brokerId }: ClusterNodeRecord) => {
      const broker = brokerOf(brokerId);
      return broker !== null && passwordCopies.serves(broker) && isConnected(brokerId);
    };
    if (!canCopy(this.of(nodeId))) return [];
    return nodes.filter((node) => node.nodeId !== nodeId && node.revision === revision && canCopy(node));
  }

  async #plan(
    nodeId: number,
    document: AccessDocument,
    index: OneAccess['index'],
    { lacking = [], passwords = new Map() }: Known = {},
  ): Promise<NodePlan> {
    const { id, rows } = this.#options;
    const target = {
      document,
      passwords: new Map([...(await rows.passwords(id)), ...passwords]),
      lacking: [...this.of(nodeId).missingPasswords, ...lacking],
      gatewayUsername: this.broker(nodeId).username,
    };
    return runInSlices(planTowards(await index.current(), target));
  }
}

/** Errors: the first of its changes; BROKER_REJECTED. */
function checkTaken({ changes }: WriteReport): void {
  const wrong = changes.find(
    ({ outcome }) => outcome !== 'APPLIED' && outcome !== 'UNCHANGED' && outcome !== 'PLANNED',
  );
  if (wrong === undefined) return;
  throw wrong.error ?? new ServiceError('BROKER_REJECTED', 'The node does not take what the cluster has');
}

const lacks = ({ missingPasswords }: ClusterNodeRecord, username: string): boolean =>
  missingPasswords.includes(username);
