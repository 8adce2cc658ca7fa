import { notFound, ServiceError } from '../../../platform/errors.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessDialect, AccessPolicy } from '../../../protocol/apis/access-control/access-model.ts';
import { isKeptByNewOnly, type VersionRule } from '../../../protocol/apis/access-control/version-rules.ts';
import type { BrokerAccess } from '../../access-control/access-control-service.ts';
import type { AccessDocument } from '../../access-control/documents/access-document.ts';
import type { AccessChange, AccessWrite } from '../../access-control/writing/access-change.ts';
import type { BlastRadius, WriteReport } from '../../access-control/writing/access-report.ts';
import type { PasswordCopies } from '../../access-control/writing/password-copies.ts';
import type { PolicyNow } from '../../access-control/writing/read-back.ts';
import type { BrokerCache, BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ClusterCache } from '../cluster-cache.ts';
import type { ClusterNodeRecord, ClusterRecord } from '../model/cluster.ts';
import { NodePasswords } from './node-passwords.ts';
import { differencesTo, type NodeAccess, type NodePlan, objectsOf, planTowards } from './node-plan.ts';
import type { NodeStates } from './node-states.ts';
import { NodeVersions } from './node-versions.ts';
import type { SyncStore } from './sync-store.ts';

export interface SyncedNodesOptions {
  readonly id: string;
  readonly cache: ClusterCache;
  readonly brokers: BrokerCache;
  readonly runtimes: BrokerRuntimes;
  readonly access: NodeAccess;
  readonly store: SyncStore;
  readonly states: NodeStates;
  readonly passwordCopies: PasswordCopies;
}

/** Maximum wait for a node to reconnect and confirm. A node that disconnects is synchronized later. */
export const FOLLOWER_MS = 500;

interface Known {
  readonly lacking?: readonly string[];
  readonly passwords?: ReadonlyMap<string, string | null>;
}

interface Compared {
  readonly document: AccessDocument;
  readonly policy: AccessPolicy;
  readonly username: string | null;
  readonly changes: readonly AccessChange[];
}

/**
 * Compares the nodes of one synchronized cluster with the document and applies the differences. The caller holds the
 * mutex, except for `differences`. Errors of all methods: those of the node, and NOT_FOUND.
 */
export class SyncedNodes {
  readonly passwords: NodePasswords;
  readonly #options: SyncedNodesOptions;
  readonly #compared = new Map<number, Compared>();
  readonly #versions = new NodeVersions();

  constructor(options: SyncedNodesOptions) {
    this.#options = options;
    this.passwords = new NodePasswords({ ...options, nodes: this });
  }

  get record(): ClusterRecord {
    const { id, cache } = this.#options;
    const record = cache.get(id);
    if (record === null) throw notFound('cluster', id);
    return record;
  }

  node(nodeId: number): ClusterNodeRecord {
    const node = this.record.nodes.find((one) => one.nodeId === nodeId);
    if (node === undefined) throw notFound('node', String(nodeId));
    return node;
  }

  broker(nodeId: number): BrokerRecord {
    const { brokerId } = this.node(nodeId);
    const broker = this.#options.brokers.get(brokerId);
    if (broker === null) throw notFound('broker', brokerId);
    return broker;
  }

  access(nodeId: number): Promise<BrokerAccess> {
    return this.#options.access.ofBroker(this.broker(nodeId));
  }

  async current(nodeId: number): Promise<PolicyNow> {
    const { index } = await this.access(nodeId);
    const now = await index.current();
    this.#versions.learn(this.node(nodeId), now, this.broker(nodeId).username);
    return now;
  }

  /** Errors: NOT_SUPPORTED_BY_BROKER, with the node that cannot keep a rule. */
  async requireKept(rules: readonly VersionRule[]): Promise<void> {
    if (!rules.some(isKeptByNewOnly)) return;
    await this.#learnAll();
    this.#versions.requireKept(rules, this.record.nodes);
  }

  async requireDocumentKept(document: AccessDocument | null): Promise<void> {
    if (document !== null) await this.requireKept(this.#versions.rulesOf(document));
  }

  async weakest(dialect: AccessDialect): Promise<AccessDialect> {
    await this.#learnAll();
    return this.#versions.weakest(dialect, this.record.nodes);
  }

  /** `null` if the version of the node is not known. */
  differingRules({ document, nodes }: ClusterRecord, node: ClusterNodeRecord): readonly VersionRule[] | null {
    return document === null ? [] : this.#versions.differing(document, node, nodes);
  }

  /** Whether the version of the node cannot keep a rule of the cluster. */
  lacksRules(nodeId: number): boolean {
    return this.differingRules(this.record, this.node(nodeId))?.some(isKeptByNewOnly) ?? false;
  }

  isBehind(nodeId: number): boolean {
    return this.node(nodeId).revision !== this.record.revision;
  }

  isEqual(nodeId: number): boolean {
    return this.#options.states.of(nodeId).state === 'EQUAL';
  }

  /** Returns the changes that make the node equal. Uses the last comparison if nothing changed since. */
  async differences(nodeId: number): Promise<readonly AccessChange[]> {
    const { document } = this.record;
    if (document === null) return [];
    const now = await this.current(nodeId);
    const { username } = this.broker(nodeId);
    const before = this.#compared.get(nodeId);
    if (before?.document === document && before.policy === now.policy && before.username === username) {
      return before.changes;
    }
    const changes = await differencesTo(now, document, username);
    this.#compared.set(nodeId, { document, policy: now.policy, username, changes });
    return changes;
  }

  /** Applies the document to a node that is behind, or has drifted with `autoRepair`. Returns whether it is equal. */
  async sync(nodeId: number): Promise<boolean> {
    const isBehind = this.isBehind(nodeId);
    const differences = isBehind ? [] : await this.differences(nodeId);
    if (isBehind || (differences.length > 0 && this.record.autoRepair)) await this.apply(nodeId);
    else {
      if (this.passwords.canCopy(nodeId)) await this.passwords.copyMissing(nodeId);
      this.recordDifferences(nodeId, differences);
    }
    return differences.length === 0 || this.record.autoRepair;
  }

  /** Applies the document to a node. Returns whether something was changed. Errors: as of a write. */
  async apply(nodeId: number, known: Known = {}): Promise<boolean> {
    const { id, store } = this.#options;
    const { document, revision } = this.record;
    if (document === null) return false;
    const { writer } = await this.access(nodeId);
    const plan = await this.#plan(nodeId, document, known);
    // Stored first, so that an account that is created without its password is not lost if the process fails.
    if (plan.lackingMeanwhile.join('\0') !== this.node(nodeId).missingPasswords.join('\0')) {
      await store.updateNode(id, nodeId, { missingPasswords: plan.lackingMeanwhile });
    }
    if (plan.changes.length > 0)
      requireApplied(await writer.write([{ changes: plan.changes, mayControl: true }], FOLLOWER_MS), plan.changes);
    const { missingPasswords, revision: before } = this.node(nodeId);
    // A new node may have other passwords for the same accounts.
    const wanted = before === null ? document.clients.map(({ username }) => username) : plan.lackingAfter;
    const copied = await this.passwords.copy(nodeId, wanted);
    const lackingAfter = plan.lackingAfter.filter((username) => !copied.has(username));
    if (before !== revision || missingPasswords.length !== lackingAfter.length) {
      await store.updateNode(id, nodeId, { revision, missingPasswords: lackingAfter });
    }
    this.recordDifferences(nodeId, []);
    return plan.changes.length > 0;
  }

  /** Validates all changes on the node. Errors: BROKER_REJECTED, with the first reason. */
  async dryRun(nodeId: number, document: AccessDocument): Promise<void> {
    const { writer } = await this.access(nodeId);
    const { changes } = await this.#plan(nodeId, document);
    if (changes.length > 0) requireApplied([await writer.dryRun({ changes, mayControl: true })], changes);
  }

  /** The connections that the changes would close on the node. `null` if the node cannot be read. */
  async radiusOf(nodeId: number, write: AccessWrite): Promise<BlastRadius | null> {
    if (!this.#options.runtimes.isConnected(this.node(nodeId).brokerId)) return null;
    try {
      const { writer } = await this.access(nodeId);
      return (await writer.dryRun(write)).blastRadius;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return null;
    }
  }

  recordDifferences(nodeId: number, differences: readonly AccessChange[]): void {
    const { states } = this.#options;
    if (differences.length === 0) states.set(nodeId, { state: 'EQUAL' });
    else states.set(nodeId, { state: 'DRIFTED', differences: objectsOf(differences) });
  }

  /** Records a failure of the node and returns it. Errors: rethrows unexpected errors. */
  recordFailure(nodeId: number, error: unknown): ServiceError {
    if (!(error instanceof ServiceError)) throw error;
    this.#options.states.set(nodeId, { state: this.isBehind(nodeId) ? 'BEHIND' : 'UNKNOWN', error });
    return error;
  }

  lagReason(nodeId: number): ServiceError {
    const { error } = this.#options.states.of(nodeId);
    return error ?? new ServiceError('BROKER_UNREACHABLE', `Node ${nodeId} lacks earlier changes`);
  }

  async #learnAll(): Promise<void> {
    const unknown = this.record.nodes.filter((node) => !this.#versions.knows(node));
    // The version of a node that cannot be read stays unknown.
    await Promise.allSettled(unknown.map(({ nodeId }) => this.current(nodeId)));
  }

  async #plan(
    nodeId: number,
    document: AccessDocument,
    { lacking = [], passwords = new Map() }: Known = {},
  ): Promise<NodePlan> {
    const { id, store } = this.#options;
    const target = {
      document,
      passwords: new Map([...(await store.storedPasswords(id)), ...passwords]),
      lacking: [...this.node(nodeId).missingPasswords, ...lacking],
      gatewayUsername: this.broker(nodeId).username,
    };
    return runInSlices(planTowards(await this.current(nodeId), target));
  }
}

function requireApplied(reports: readonly WriteReport[], changes: readonly AccessChange[]): void {
  const results = reports.flatMap((report) => report.changes);
  const at = results.findIndex(({ outcome }) => !['APPLIED', 'UNCHANGED', 'PLANNED'].includes(outcome));
  if (at < 0) return;
  const error = results[at]?.error;
  const [object] = objectsOf(changes.slice(at, at + 1));
  const reason = error?.message ?? 'the node refused the access control of the cluster';
  const message = `${object?.kind} ${JSON.stringify(object?.name)}: ${reason}`;
  throw new ServiceError(error?.code ?? 'BROKER_REJECTED', message, {
    ...(error && { cause: error }),
    ...(error?.info && { info: error.info }),
  });
}
