import { ServiceError } from '../../../platform/errors.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessChange } from '../../access-control/writing/access-change.ts';
import type { ChangeOutcome, NodeReport, WriteReport } from '../../access-control/writing/access-report.ts';
import type { SyncStore } from './sync-store.ts';
import { FOLLOWER_MS, type SyncedNodes } from './synced-nodes.ts';
import { accountsChangedBy, documentAfter, type PasswordEffects, passwordsAfter } from './write-effects.ts';

interface ClusterWriteOptions {
  readonly nodes: SyncedNodes;
  readonly store: SyncStore;
  readonly storesPasswords: boolean;
  readonly onFault: (error: unknown) => void;
}

interface FirstNodeWrite {
  readonly changes: readonly AccessChange[];
  readonly passwords: PasswordEffects;
  readonly revision: number;
  readonly isPlain: boolean;
}

/**
 * One write to a synchronized cluster. The caller holds the mutex. The commands that the first equal node confirms
 * become part of the document, and are repeated on the other nodes. Unconfirmed commands are rolled back.
 */
export class ClusterWrite {
  readonly #options: ClusterWriteOptions;
  readonly #nodes: SyncedNodes;

  constructor(options: ClusterWriteOptions) {
    this.#options = options;
    this.#nodes = options.nodes;
  }

  /** Errors: BROKER_UNREACHABLE (no node is connected), IN_USE (all nodes have drifted), and as for a single broker. */
  async run(changes: readonly AccessChange[], mayControl: boolean): Promise<WriteReport> {
    let problem: ServiceError | null = null;
    for (const { nodeId } of this.#nodes.record.nodes) {
      let report: WriteReport | null;
      try {
        report = await this.#begin(nodeId, changes, mayControl);
      } catch (error) {
        const failure = this.#nodes.recordFailure(nodeId, error);
        problem ??= failure;
        continue;
      }
      if (report !== null) return this.#replicate(nodeId, changes, report);
      problem = allDrifted();
    }
    throw problem ?? new ServiceError('BROKER_UNREACHABLE', 'The cluster has no nodes');
  }

  async #begin(nodeId: number, changes: readonly AccessChange[], mayControl: boolean): Promise<WriteReport | null> {
    const nodes = this.#nodes;
    if (!(await nodes.sync(nodeId))) return null;
    const { writer } = await nodes.access(nodeId);
    const { id } = nodes.record;
    await this.#options.store.beginWrite(id, { nodeId, usernames: accountsChangedBy(changes) });
    try {
      return await writer.write(changes, { dryRun: false, mayControl, readBackMs: FIRST_MS });
    } catch (error) {
      // Otherwise commands may have been sent. The next holder of the mutex synchronizes the node.
      if (error instanceof ServiceError) await this.#options.store.cancelWrite(id);
      throw error;
    }
  }

  async #replicate(first: number, changes: readonly AccessChange[], report: WriteReport): Promise<WriteReport> {
    const { record } = this.#nodes;
    const commands = report.changes.flatMap((change) => change.commands);
    const isInDoubt = commands.some(({ state }) => state === 'UNKNOWN');
    if (!commands.some(({ state }) => state === 'APPLIED') || record.document === null) {
      await (isInDoubt ? this.#options.store.markInDoubt(record) : this.#options.store.cancelWrite(record.id));
      return this.#nothingApplied(first, report, isInDoubt);
    }
    const passwords = passwordsAfter(changes, report);
    const document = await runInSlices(documentAfter(record.document, report));
    try {
      await this.#options.store.putDocument(record, {
        document,
        nodeId: first,
        passwords,
        isInDoubt,
        storesPasswords: this.#options.storesPasswords,
      });
    } catch (error) {
      throw this.#storageError(first, error);
    }
    const done: FirstNodeWrite = {
      changes: changes.filter((_change, index) => report.changes[index]?.outcome === 'APPLIED'),
      passwords,
      revision: record.revision,
      isPlain: report.changes.every(({ outcome, commands: { length } }) => PLAIN.has(outcome) || length === 0),
    };
    const reports: NodeReport[] = [];
    for (const { nodeId } of record.nodes) {
      if (nodeId !== first) reports.push(await this.#applyToFollower(nodeId, done));
      else reports.push(this.#reportOf(first, report.outcome, isInDoubt ? this.#inDoubt(first, report) : null));
    }
    return { ...report, nodes: reports };
  }

  async #applyToFollower(nodeId: number, done: FirstNodeWrite): Promise<NodeReport> {
    try {
      const wasDone = await this.#repeatOn(nodeId, done);
      if (wasDone !== null) return this.#reportOf(nodeId, wasDone);
      const wasBrought = await this.#nodes.apply(nodeId, { passwords: done.passwords.set });
      return this.#reportOf(nodeId, wasBrought ? 'APPLIED' : 'UNCHANGED');
    } catch (error) {
      if (error instanceof ServiceError)
        return this.#reportOf(nodeId, 'REJECTED', this.#nodes.recordFailure(nodeId, error));
      this.#options.onFault(error);
      const message = 'The result on this node could not be stored: the node is compared again soon';
      const failure = this.#nodes.recordFailure(nodeId, new ServiceError('INTERNAL_ERROR', message));
      return this.#reportOf(nodeId, 'UNKNOWN', failure);
    }
  }

  /** The first node has changes that are not stored. The next holder of the mutex rolls them back. */
  #storageError(nodeId: number, error: unknown): unknown {
    if (error instanceof ServiceError) return error;
    this.#options.onFault(error);
    const message = `The change of node ${nodeId} could not be stored: the change is rolled back as soon as possible`;
    return this.#nodes.recordFailure(nodeId, new ServiceError('INTERNAL_ERROR', message));
  }

  /** `null` if the node must be synchronized instead, because it is behind or the result differs. */
  async #repeatOn(
    nodeId: number,
    { changes, passwords, revision, isPlain }: FirstNodeWrite,
  ): Promise<ChangeOutcome | null> {
    const nodes = this.#nodes;
    const { id } = nodes.record;
    if (!isPlain || nodes.node(nodeId).revision !== revision) return null;
    const { writer } = await nodes.access(nodeId);
    const own = await writer.write(changes, { dryRun: false, mayControl: true, readBackMs: FOLLOWER_MS });
    const { set, unconfirmed } = passwordsAfter(changes, own);
    const others = [...new Set([...set.keys(), ...passwords.set.keys()])].filter(
      (username) => !set.has(username) || set.get(username) !== passwords.set.get(username),
    );
    const { missingPasswords } = nodes.node(nodeId);
    if (own.changes.some(({ outcome }) => !PLAIN.has(outcome)) || others.length > 0) {
      await this.#options.store.updateNode(id, nodeId, {
        missingPasswords: [...missingPasswords, ...others, ...unconfirmed],
      });
      return null;
    }
    await this.#options.store.updateNode(id, nodeId, {
      revision: nodes.record.revision,
      missingPasswords: missingPasswords.filter((username) => !set.has(username)),
    });
    // If the node was equal, changes by other clients are detected by NodeWatch.
    if (!nodes.isEqual(nodeId)) nodes.recordDifferences(nodeId, await nodes.differences(nodeId));
    return own.outcome;
  }

  #nothingApplied(first: number, report: WriteReport, isInDoubt: boolean): WriteReport {
    const doubt = isInDoubt ? this.#inDoubt(first, report) : null;
    const reports = this.#nodes.record.nodes.map(({ nodeId }) => {
      if (nodeId === first || report.outcome === 'REJECTED') return this.#reportOf(nodeId, report.outcome, doubt);
      if (doubt !== null) return this.#reportOf(nodeId, 'REJECTED', doubt);
      // A node that lacks earlier changes may differ even if the first node needed no change.
      const lag = this.#nodes.isBehind(nodeId) ? this.#nodes.lagReason(nodeId) : null;
      return this.#reportOf(nodeId, lag === null ? report.outcome : 'REJECTED', lag);
    });
    return { ...report, nodes: reports };
  }

  #inDoubt(nodeId: number, { changes }: WriteReport): ServiceError {
    const reason = changes.find(({ outcome }) => outcome === 'UNKNOWN')?.error;
    const error = new ServiceError(
      reason?.code ?? 'BROKER_TIMEOUT',
      `Node ${nodeId} did not confirm the result; unconfirmed changes are rolled back: ${reason?.message ?? 'no response'}`,
      reason ? { cause: reason } : {},
    );
    return this.#nodes.recordFailure(nodeId, error);
  }

  #reportOf(nodeId: number, outcome: ChangeOutcome, error: ServiceError | null = null): NodeReport {
    return { nodeId, brokerId: this.#nodes.node(nodeId).brokerId, outcome, error };
  }
}

/** Maximum wait for the first node to reconnect and confirm. Writes that wait for the mutex wait for it, too. */
const FIRST_MS = 3_000;

const PLAIN: ReadonlySet<ChangeOutcome> = new Set<ChangeOutcome>(['APPLIED', 'UNCHANGED']);

const allDrifted = () =>
  new ServiceError(
    'IN_USE',
    'Other clients changed every connected node of the cluster: repair one node, or adopt its changes',
  );
