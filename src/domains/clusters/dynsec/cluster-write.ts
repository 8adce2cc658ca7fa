import { ServiceError } from '../../../platform/errors.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessWrite } from '../../access-control/writing/access-change.ts';
import type { CommandState, WriteReport } from '../../access-control/writing/access-report.ts';
import {
  changesOf,
  type FirstNodeWrites,
  type FollowerReports,
  FollowerWrites,
  type FollowerWritesOptions,
  nodeReport,
  PLAIN,
} from './follower-writes.ts';
import { radiusOfNodes } from './node-radius.ts';
import type { SyncedNodes } from './synced-nodes.ts';
import { accountsChangedBy, documentAfter, passwordsAfter } from './write-effects.ts';

interface ClusterWriteOptions extends FollowerWritesOptions {
  readonly storesPasswords: boolean;
}

/**
 * Merged writes to a synchronized cluster. The caller holds the mutex. The commands that the first equal node confirms
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
  async run(writes: readonly AccessWrite[]): Promise<readonly WriteReport[]> {
    let problem: ServiceError | null = null;
    if (this.#nodes.record.document === null) {
      throw new ServiceError('BROKER_UNREACHABLE', 'The cluster has not been read yet');
    }
    const { nodes } = this.#nodes.record;
    // The commands of a node that lacks rules, applied to the document, would remove these rules from other nodes.
    const whole = nodes.filter(({ nodeId }) => !this.#nodes.lacksRules(nodeId));
    for (const { nodeId } of whole.length > 0 ? whole : nodes) {
      let reports: readonly WriteReport[] | null;
      try {
        reports = await this.#begin(nodeId, writes);
      } catch (error) {
        const failure = this.#nodes.recordFailure(nodeId, error);
        problem ??= failure;
        continue;
      }
      if (reports !== null) return this.#replicate(nodeId, writes, reports);
      problem = allDrifted();
    }
    throw problem ?? new ServiceError('BROKER_UNREACHABLE', 'The cluster has no nodes');
  }

  async #begin(nodeId: number, writes: readonly AccessWrite[]): Promise<readonly WriteReport[] | null> {
    const nodes = this.#nodes;
    if (!(await nodes.sync(nodeId))) return null;
    const { writer } = await nodes.access(nodeId);
    const { id } = nodes.record;
    await this.#options.store.beginWrite(id, { nodeId, usernames: accountsChangedBy(changesOf(writes)) });
    try {
      return await writer.write(writes, FIRST_MS);
    } catch (error) {
      // Otherwise commands may have been sent. The next holder of the mutex synchronizes the node.
      if (error instanceof ServiceError) await this.#options.store.cancelWrite(id);
      throw error;
    }
  }

  async #replicate(
    first: number,
    writes: readonly AccessWrite[],
    reports: readonly WriteReport[],
  ): Promise<readonly WriteReport[]> {
    const { record } = this.#nodes;
    const report = { changes: reports.flatMap(({ changes }) => changes) };
    const isInDoubt = hasCommand('UNKNOWN', report);
    if (!hasCommand('APPLIED', report) || record.document === null) {
      await (isInDoubt ? this.#options.store.markInDoubt(record) : this.#options.store.cancelWrite(record.id));
      return reports.map((one) => this.#nothingApplied(first, one));
    }
    const passwords = passwordsAfter(changesOf(writes), report);
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
    const done: FirstNodeWrites = {
      applied: writes.map(({ changes }, index) => ({
        changes: changes.filter((_change, at) => reports[index]?.changes[at]?.outcome === 'APPLIED'),
        mayControl: true,
      })),
      passwords,
      revision: record.revision,
      isPlain: report.changes.every(({ outcome, commands: { length } }) => PLAIN.has(outcome) || length === 0),
    };
    const follower = new FollowerWrites(this.#options);
    const followers = new Map<number, FollowerReports>();
    for (const { nodeId } of record.nodes) {
      if (nodeId !== first) followers.set(nodeId, await follower.apply(nodeId, done));
    }
    return reports.map((one, index) =>
      hasCommand('APPLIED', one) ? this.#applied(first, one, index, followers) : this.#nothingApplied(first, one),
    );
  }

  #applied(
    first: number,
    report: WriteReport,
    index: number,
    followers: ReadonlyMap<number, FollowerReports>,
  ): WriteReport {
    const own = {
      ...nodeReport(this.#nodes, first, report.outcome, this.#doubtOf(first, report)),
      blastRadius: report.blastRadius,
    };
    const nodes = this.#nodes.record.nodes.map(({ nodeId }) => {
      const follower = followers.get(nodeId) ?? own;
      return 'outcome' in follower ? follower : (follower[index] ?? own);
    });
    return { ...report, nodes, blastRadius: radiusOfNodes(nodes.map(({ blastRadius }) => blastRadius)) };
  }

  /** The first node has changes that are not stored. The next holder of the mutex rolls them back. */
  #storageError(nodeId: number, error: unknown): unknown {
    if (error instanceof ServiceError) return error;
    this.#options.onFault(error);
    const message = `The change of node ${nodeId} could not be stored: the change is rolled back as soon as possible`;
    return this.#nodes.recordFailure(nodeId, new ServiceError('INTERNAL_ERROR', message));
  }

  #nothingApplied(first: number, report: WriteReport): WriteReport {
    const doubt = this.#doubtOf(first, report);
    const reports = this.#nodes.record.nodes.map(({ nodeId }) => {
      if (nodeId === first || report.outcome === 'REJECTED')
        return nodeReport(this.#nodes, nodeId, report.outcome, doubt);
      if (doubt !== null) return nodeReport(this.#nodes, nodeId, 'REJECTED', doubt);
      // A node that lacks earlier changes may differ even if the first node needed no change.
      const lag = this.#nodes.isBehind(nodeId) ? this.#nodes.lagReason(nodeId) : null;
      return nodeReport(this.#nodes, nodeId, lag === null ? report.outcome : 'REJECTED', lag);
    });
    return { ...report, nodes: reports };
  }

  #doubtOf(nodeId: number, report: WriteReport): ServiceError | null {
    if (!hasCommand('UNKNOWN', report)) return null;
    const { changes } = report;
    const reason = changes.find(({ outcome }) => outcome === 'UNKNOWN')?.error;
    const error = new ServiceError(
      reason?.code ?? 'BROKER_TIMEOUT',
      `Node ${nodeId} did not confirm the result; unconfirmed changes are rolled back: ${reason?.message ?? 'no response'}`,
      reason ? { cause: reason } : {},
    );
    return this.#nodes.recordFailure(nodeId, error);
  }
}

/** Maximum wait for the first node to reconnect and confirm. Writes that wait for the mutex wait for it, too. */
const FIRST_MS = 3_000;

const hasCommand = (wanted: CommandState, { changes }: Pick<WriteReport, 'changes'>): boolean =>
  changes.some(({ commands }) => commands.some(({ state }) => state === wanted));

const allDrifted = () =>
  new ServiceError(
    'IN_USE',
    'Other clients changed every connected node of the cluster: repair one node, or adopt its changes',
  );
