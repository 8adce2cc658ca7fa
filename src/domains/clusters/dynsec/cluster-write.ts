import { ServiceError } from '../../../platform/errors.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessChange } from '../../access-control/writing/access-change.ts';
import type { ChangeOutcome, NodeReport, WriteReport } from '../../access-control/writing/access-report.ts';
import type { ClusterRows } from './cluster-rows.ts';
import { FOLLOWER_MS, type KeptNodes } from './kept-nodes.ts';
import { concernedBy, documentAfter, type PasswordEffects, passwordsAfter } from './write-effects.ts';

export interface ClusterWriteOptions {
  readonly nodes: KeptNodes;
  readonly rows: ClusterRows;
  /** Passwords are kept for nodes that are away. */
  readonly keeps: boolean;
  /** A failure that is no node's. */
  readonly onFault: (error: unknown) => void;
}

/** What was done on the first node, for the others. */
interface Done {
  readonly changes: readonly AccessChange[];
  readonly passwords: PasswordEffects;
  /** Of the document before. */
  readonly revision: number;
  /** It went as it does on a node that is equal to the first. */
  readonly isSure: boolean;
}

/**
 * One write on a cluster, by who has the turn: on the first node that is equal, whose report it is, then on the others. What that node
 * told to have done is what the cluster has from then on; what it may have done beside it is taken back.
 */
export class ClusterWrite {
  readonly #nodes: KeptNodes;
  readonly #rows: ClusterRows;
  readonly #keeps: boolean;

  readonly #onFault: (error: unknown) => void;

  constructor({ nodes, rows, keeps, onFault }: ClusterWriteOptions) {
    this.#onFault = onFault;
    this.#nodes = nodes;
    this.#rows = rows;
    this.#keeps = keeps;
  }

  /** Errors: BROKER_UNREACHABLE (no node is reached), IN_USE (somebody else changed each one that is), as of a single broker. */
  async run(changes: readonly AccessChange[], mayControl: boolean): Promise<WriteReport> {
    let problem: ServiceError | null = null;
    for (const { nodeId } of this.#nodes.record.nodes) {
      let report: WriteReport | null;
      try {
        report = await this.#begin(nodeId, changes, mayControl);
      } catch (error) {
        const failure = this.#nodes.failed(nodeId, error);
        problem ??= failure;
        continue;
      }
      if (report !== null) return this.#spread(nodeId, changes, report);
      problem = allDrifted();
    }
    throw problem ?? new ServiceError('BROKER_UNREACHABLE', 'The cluster has no nodes');
  }

  /** Null: the node is not equal. Errors: nothing was sent. */
  async #begin(nodeId: number, changes: readonly AccessChange[], mayControl: boolean): Promise<WriteReport | null> {
    const nodes = this.#nodes;
    if (!(await nodes.settle(nodeId))) return null;
    const { writer } = await nodes.access(nodeId);
    const { id } = nodes.record;
    await this.#rows.begin(id, { nodeId, usernames: concernedBy(changes) });
    try {
      return await writer.write(changes, { dryRun: false, mayControl, readBackMs: FIRST_MS });
    } catch (error) {
      // What is no ServiceError leaves it open whether anything was sent: the next who has the turn takes it back.
      if (error instanceof ServiceError) await this.#rows.abandon(id);
      throw error;
    }
  }

  async #spread(first: number, changes: readonly AccessChange[], report: WriteReport): Promise<WriteReport> {
    const { record } = this.#nodes;
    const commands = report.changes.flatMap((change) => change.commands);
    const isInDoubt = commands.some(({ state }) => state === 'UNKNOWN');
    if (!commands.some(({ state }) => state === 'APPLIED') || record.document === null) {
      await (isInDoubt ? this.#rows.takeBack(record) : this.#rows.abandon(record.id));
      return this.#undone(first, report, isInDoubt);
    }
    const passwords = passwordsAfter(changes, report);
    const document = await runInSlices(documentAfter(record.document, report));
    try {
      await this.#rows.change(record, { document, nodeId: first, passwords, isInDoubt, keeps: this.#keeps });
    } catch (error) {
      throw this.#unstored(first, error);
    }
    const done: Done = {
      changes: changes.filter((_change, index) => report.changes[index]?.outcome === 'APPLIED'),
      passwords,
      revision: record.revision,
      isSure: report.changes.every(({ outcome, commands: { length } }) => PLAIN.has(outcome) || length === 0),
    };
    const reports: NodeReport[] = [];
    for (const { nodeId } of record.nodes) {
      if (nodeId !== first) reports.push(await this.#follow(nodeId, done));
      else reports.push(this.#reportOf(first, report.outcome, isInDoubt ? this.#inDoubt(first, report) : null));
    }
    return { ...report, nodes: reports };
  }

  /** Never rejects for what the node does. */
  async #follow(nodeId: number, done: Done): Promise<NodeReport> {
    try {
      const wasDone = await this.#repeat(nodeId, done);
      if (wasDone !== null) return this.#reportOf(nodeId, wasDone);
      const wasBrought = await this.#nodes.bring(nodeId, { passwords: done.passwords.set });
      return this.#reportOf(nodeId, wasBrought ? 'APPLIED' : 'UNCHANGED');
    } catch (error) {
      if (error instanceof ServiceError) return this.#reportOf(nodeId, 'REJECTED', this.#nodes.failed(nodeId, error));
      this.#onFault(error);
      const message = 'What became of it there could not be stored: the node is compared again before long';
      return this.#reportOf(nodeId, 'UNKNOWN', this.#nodes.failed(nodeId, new ServiceError('INTERNAL_ERROR', message)));
    }
  }

  /** The first node has what the cluster was not to have: the next who has the turn takes it back. */
  #unstored(nodeId: number, error: unknown): unknown {
    if (error instanceof ServiceError) return error;
    this.#onFault(error);
    const message = `What was done on node ${nodeId} could not be stored: it is taken back as soon as it can be`;
    return this.#nodes.failed(nodeId, new ServiceError('INTERNAL_ERROR', message));
  }

  /**
   * Does the same on another node. Null: it has to be brought to the document, for it is behind, or it did not go as on the first. What
   * somebody else changed there stays, and is told.
   */
  async #repeat(nodeId: number, { changes, passwords, revision, isSure }: Done): Promise<ChangeOutcome | null> {
    const nodes = this.#nodes;
    const { id } = nodes.record;
    if (!isSure || nodes.of(nodeId).revision !== revision) return null;
    const { writer } = await nodes.access(nodeId);
    const own = await writer.write(changes, { dryRun: false, mayControl: true, readBackMs: FOLLOWER_MS });
    const { set, doubtful } = passwordsAfter(changes, own);
    const others = [...new Set([...set.keys(), ...passwords.set.keys()])].filter(
      (username) => !set.has(username) || set.get(username) !== passwords.set.get(username),
    );
    const { missingPasswords } = nodes.of(nodeId);
    if (own.changes.some(({ outcome }) => !PLAIN.has(outcome)) || others.length > 0) {
      await this.#rows.nodeHas(id, nodeId, { missingPasswords: [...missingPasswords, ...others, ...doubtful] });
      return null;
    }
    await this.#rows.nodeHas(id, nodeId, {
      revision: nodes.record.revision,
      missingPasswords: missingPasswords.filter((username) => !set.has(username)),
    });
    // Somebody else's changes since it was found equal are seen by themselves.
    if (!nodes.isEqual(nodeId)) nodes.found(nodeId, await nodes.differences(nodeId));
    return own.outcome;
  }

  /** Nothing of it is known to have been done. */
  #undone(first: number, report: WriteReport, isInDoubt: boolean): WriteReport {
    const doubt = isInDoubt ? this.#inDoubt(first, report) : null;
    const reports = this.#nodes.record.nodes.map(({ nodeId }) => {
      if (nodeId === first || report.outcome === 'REJECTED') return this.#reportOf(nodeId, report.outcome, doubt);
      if (doubt !== null) return this.#reportOf(nodeId, 'REJECTED', doubt);
      // It was so already where it is so: not on a node that lacks earlier changes.
      const lag = this.#nodes.isBehind(nodeId) ? this.#nodes.problemOf(nodeId) : null;
      return this.#reportOf(nodeId, lag === null ? report.outcome : 'REJECTED', lag);
    });
    return { ...report, nodes: reports };
  }

  #inDoubt(nodeId: number, { changes }: WriteReport): ServiceError {
    const reason = changes.find(({ outcome }) => outcome === 'UNKNOWN')?.error;
    const error = new ServiceError(
      reason?.code ?? 'BROKER_TIMEOUT',
      `Node ${nodeId} did not tell how it ended; what it may have done of it is taken back: ${reason?.message ?? 'no answer came'}`,
      reason ? { cause: reason } : {},
    );
    return this.#nodes.failed(nodeId, error);
  }

  #reportOf(nodeId: number, outcome: ChangeOutcome, error: ServiceError | null = null): NodeReport {
    return { nodeId, brokerId: this.#nodes.of(nodeId).brokerId, outcome, error };
  }
}

/** Longest wait for the first node to come back and tell: who waits for a turn waits for it, too. */
const FIRST_MS = 3_000;

const PLAIN: ReadonlySet<ChangeOutcome> = new Set<ChangeOutcome>(['APPLIED', 'UNCHANGED']);

const allDrifted = () =>
  new ServiceError(
    'IN_USE',
    'Somebody else changed every node of the cluster that is reached: repair one, or take over what it has',
  );
