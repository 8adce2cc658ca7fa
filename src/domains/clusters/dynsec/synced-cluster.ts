import type { Logger } from 'pino';
import { ServiceError } from '../../../platform/errors.ts';
import type { LeasedMutex } from '../../../platform/scheduling/leased-mutex.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessDialect } from '../../../protocol/apis/access-control/access-model.ts';
import type { VersionRule } from '../../../protocol/apis/access-control/version-rules.ts';
import { type AccessDocument, documentOf, policyOf } from '../../access-control/documents/access-document.ts';
import type { AccessWrite } from '../../access-control/writing/access-change.ts';
import { AccessPlanner } from '../../access-control/writing/access-planner.ts';
import type { WriteReport } from '../../access-control/writing/access-report.ts';
import { WriteQueue } from '../../access-control/writing/write-queue.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { ClusterNodeRecord, ClusterRecord } from '../model/cluster.ts';
import { ClusterWrite } from './cluster-write.ts';
import { differencesTo } from './node-plan.ts';
import { radiusOfNodes } from './node-radius.ts';
import { addedRules } from './node-versions.ts';
import { SyncedNodes, type SyncedNodesOptions } from './synced-nodes.ts';

interface SyncedClusterOptions extends SyncedNodesOptions {
  readonly mutex: LeasedMutex;
  readonly storesPasswords: (cluster: ClusterRecord) => boolean;
  readonly log: Logger;
}

/**
 * A cluster that this service synchronizes: each node has the dynamic security of the document of the cluster. A node
 * that was away or refused a write is behind, and receives the differences as soon as it is connected. Changes by other
 * clients of a node are reported, and reverted on request. Passwords cannot be read, so each node lists the accounts
 * whose password it may lack, and password changes by other clients are not detected.
 */
export class SyncedCluster {
  readonly #options: SyncedClusterOptions;
  readonly #nodes: SyncedNodes;
  readonly #queue = new WriteQueue((writes) => this.#writeAll(writes));
  /** The last run with the mutex in this process. Never rejects. */
  #lastRun: Promise<unknown> = Promise.resolve();

  constructor(options: SyncedClusterOptions) {
    this.#options = options;
    this.#nodes = new SyncedNodes(options);
  }

  /** The first connected and equal node, otherwise the first connected node. `null` if no node is connected. */
  contactNode(): ClusterNodeRecord | null {
    const { runtimes } = this.#options;
    const reached = this.#record.nodes.filter(({ brokerId }) => runtimes.isConnected(brokerId));
    const equal = reached.filter(({ nodeId }) => this.#nodes.isEqual(nodeId));
    return equal.find(({ nodeId }) => !this.#nodes.lacksRules(nodeId)) ?? equal[0] ?? reached[0] ?? null;
  }

  reader(): BrokerRecord {
    return this.#nodes.broker((this.contactNode() ?? this.#record.nodes[0])?.nodeId ?? 0);
  }

  nodes(): readonly { readonly nodeId: number; readonly broker: BrokerRecord }[] {
    return this.#record.nodes.map(({ nodeId }) => ({ nodeId, broker: this.#nodes.broker(nodeId) }));
  }

  weakest(dialect: AccessDialect): Promise<AccessDialect> {
    return this.#nodes.weakest(dialect);
  }

  differingRules(cluster: ClusterRecord, node: ClusterNodeRecord): readonly VersionRule[] | null {
    return this.#nodes.differingRules(cluster, node);
  }

  /**
   * Reads and validates all nodes before anything is changed. Errors: those of the nodes, with their numbers;
   * NOT_SUPPORTED_BY_BROKER if the version of a node cannot keep a rule.
   */
  async initialize(): Promise<void> {
    const [first, ...others] = this.#record.nodes.map(({ nodeId }) => nodeId);
    if (first === undefined) return;
    await this.#withMutex(async () => {
      await Promise.all(others.map((nodeId) => withNodeNumber(nodeId, this.#policyOf(nodeId))));
      const document = await runInSlices(documentOf(await withNodeNumber(first, this.#policyOf(first))));
      await this.#nodes.requireDocumentKept(document);
      for (const nodeId of others) await withNodeNumber(nodeId, this.#nodes.dryRun(nodeId, document));
      await this.#setDocument(first, document);
    });
    for (const nodeId of others) await this.check(nodeId);
  }

  /** Synchronizes a new node after validating the changes, or later if it disconnects. Errors: as `initialize`. */
  async addNode(nodeId: number): Promise<void> {
    await this.#runExclusive(async () => {
      const { document } = this.#record;
      if (document === null) return;
      await withNodeNumber(nodeId, this.#nodes.current(nodeId));
      await this.#nodes.requireDocumentKept(document);
      await withNodeNumber(nodeId, this.#nodes.dryRun(nodeId, document));
    });
    await this.check(nodeId);
  }

  /**
   * Errors: BROKER_UNREACHABLE (no node is connected), IN_USE (all have drifted), NOT_SUPPORTED_BY_BROKER (the version
   * of a node cannot keep a rule), and as for a single broker.
   */
  async write(write: AccessWrite, dryRun: boolean): Promise<WriteReport> {
    await this.#nodes.requireKept(addedRules(write.changes, this.#record.document));
    if (!dryRun) return this.#queue.write(write);
    const reader = this.reader();
    const { writer } = await this.#options.access.ofBroker(reader);
    const report = await writer.dryRun(write);
    const others = this.#record.nodes.filter(({ brokerId }) => brokerId !== reader.id);
    const radii = await Promise.all(others.map(({ nodeId }) => this.#nodes.radiusOf(nodeId, write)));
    return { ...report, blastRadius: radiusOfNodes([report.blastRadius, ...radii]) };
  }

  #writeAll(writes: readonly AccessWrite[]): Promise<readonly WriteReport[]> {
    const { id, store, storesPasswords, log } = this.#options;
    return this.#runExclusive(() => {
      const write = new ClusterWrite({
        nodes: this.#nodes,
        store,
        storesPasswords: storesPasswords(this.#record),
        onFault: (error) => log.error({ err: error, clusterId: id }, 'could not store a write to a cluster'),
      });
      return write.run(writes);
    });
  }

  /** Compares a node, and synchronizes it if it is behind or `autoRepair` is set. Never rejects because of the node. */
  async check(nodeId: number): Promise<void> {
    const { id, cache } = this.#options;
    try {
      if (await this.#isInSync(nodeId)) return this.#nodes.recordDifferences(nodeId, []);
      // Usually this service is writing now, in this or another process.
      await this.#lastRun;
      await cache.refresh(id);
      if (await this.#isInSync(nodeId)) return this.#nodes.recordDifferences(nodeId, []);
      await this.#runExclusive(() => this.#nodes.sync(nodeId));
    } catch (error) {
      if (cache.get(id)?.nodes.some((node) => node.nodeId === nodeId)) this.#nodes.recordFailure(nodeId, error);
    }
  }

  /** Synchronizes a node and sets all stored passwords, because it may have others. Errors: those of the node. */
  async repair(nodeId: number): Promise<void> {
    const { id, store } = this.#options;
    await this.#runExclusive(async () => {
      const known = await store.storedPasswords(id);
      const stored = [...known.keys()].filter((username) => known.get(username) !== null);
      await this.#nodes.apply(nodeId, { lacking: stored });
    });
  }

  /**
   * Errors: those of the node; NOT_ALLOWED if it changes rights on `$CONTROL/` and `mayControl` is false;
   * NOT_SUPPORTED_BY_BROKER if the version of a node cannot keep a rule.
   */
  async adopt(nodeId: number, mayControl: boolean): Promise<void> {
    await this.#runExclusive(async () => {
      // Changes that the node missed while it was away are not deletions by another client.
      if (this.#nodes.isBehind(nodeId)) await this.#nodes.apply(nodeId);
      // Rules that the version of the node cannot keep are not deletions by another client either.
      else if (this.#nodes.lacksRules(nodeId)) await this.#nodes.requireDocumentKept(this.#record.document);
      else if ((await this.#nodes.differences(nodeId)).length > 0) {
        const { policy, dialect } = await this.#nodes.current(nodeId);
        const document = await runInSlices(documentOf(policy));
        await this.#nodes.requireDocumentKept(document);
        if (!mayControl && this.#record.document !== null) {
          await checkControlRights(this.#record.document, document, dialect);
        }
        await this.#setDocument(nodeId, document);
      }
    });
    for (const node of this.#record.nodes) await this.check(node.nodeId);
  }

  async #setDocument(nodeId: number, document: AccessDocument): Promise<void> {
    const passwords = { set: new Map<string, string | null>(), unconfirmed: [] };
    await this.#options.store.putDocument(this.#record, {
      document,
      nodeId,
      passwords,
      isInDoubt: false,
      storesPasswords: false,
    });
    this.#nodes.recordDifferences(nodeId, []);
  }

  /** Runs without the mutex, because most checks find no difference. */
  async #isInSync(nodeId: number): Promise<boolean> {
    const { document, revision, writing } = this.#record;
    if (document === null || writing !== null || this.#nodes.isBehind(nodeId)) return false;
    if (this.#nodes.passwords.canCopy(nodeId)) return false;
    return (await this.#nodes.differences(nodeId)).length === 0 && this.#record.revision === revision;
  }

  async #policyOf(nodeId: number) {
    return (await this.#nodes.current(nodeId)).policy;
  }

  /** A process that failed during a write leaves a node in an unknown state. */
  #runExclusive<T>(work: () => Promise<T>): Promise<T> {
    const { store } = this.#options;
    const done = this.#withMutex(async () => {
      if (this.#record.writing !== null) await store.markInDoubt(this.#record);
      return work();
    });
    this.#lastRun = done.catch(() => undefined);
    return done;
  }

  #withMutex<T>(work: () => Promise<T>): Promise<T> {
    const { id, cache, mutex } = this.#options;
    return mutex.run(id, async () => {
      // Another process may have changed the cluster while this one waited.
      await cache.refresh(id);
      return work();
    });
  }

  get #record(): ClusterRecord {
    return this.#nodes.record;
  }
}

async function checkControlRights(
  before: AccessDocument,
  after: AccessDocument,
  dialect: AccessDialect,
): Promise<void> {
  const policy = await runInSlices(policyOf(before));
  const planner = new AccessPlanner(policy, dialect, null);
  for (const change of await differencesTo({ policy, dialect }, after, null)) {
    const { error } = planner.next(change, false);
    if (error?.code === 'NOT_ALLOWED') throw error;
  }
}

async function withNodeNumber<T>(nodeId: number, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { code, message, info } = error;
    throw new ServiceError(code, `Node ${nodeId}: ${message}`, { cause: error, info: { ...info, nodeId } });
  }
}
