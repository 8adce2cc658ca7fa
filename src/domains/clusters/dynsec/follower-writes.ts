import { ServiceError } from '../../../platform/errors.ts';
import type { AccessWrite } from '../../access-control/writing/access-change.ts';
import type {
  BlastRadius,
  ChangeOutcome,
  NodeReport,
  WriteReport,
} from '../../access-control/writing/access-report.ts';
import type { SyncStore } from './sync-store.ts';
import { FOLLOWER_MS, type SyncedNodes } from './synced-nodes.ts';
import { type PasswordEffects, passwordsAfter } from './write-effects.ts';

export interface FollowerWritesOptions {
  readonly nodes: SyncedNodes;
  readonly store: SyncStore;
  readonly onFault: (error: unknown) => void;
}

export interface FirstNodeWrites {
  /** The changes that the first node applied. */
  readonly applied: readonly AccessWrite[];
  readonly passwords: PasswordEffects;
  /** Of the document before the writes. */
  readonly revision: number;
  /** Whether the first node has exactly what the writes say. */
  readonly isPlain: boolean;
}

/** `blastRadius` is `null` if the connections that the node closed are not known. */
interface FollowerReport extends NodeReport {
  readonly blastRadius: BlastRadius | null;
}

/** The result of a follower, per write, or of all writes if it was synchronized instead. */
export type FollowerReports = readonly FollowerReport[] | FollowerReport;

/** Repeats writes on the other nodes of a cluster after the first node has confirmed them. */
export class FollowerWrites {
  readonly #options: FollowerWritesOptions;
  readonly #nodes: SyncedNodes;

  constructor(options: FollowerWritesOptions) {
    this.#options = options;
    this.#nodes = options.nodes;
  }

  /** Never rejects because of the node. */
  async apply(nodeId: number, done: FirstNodeWrites): Promise<FollowerReports> {
    try {
      const reports = await this.#repeatOn(nodeId, done);
      if (reports !== null) {
        return reports.map(({ outcome, blastRadius }) => ({
          ...nodeReport(this.#nodes, nodeId, outcome),
          blastRadius,
        }));
      }
      const wasBrought = await this.#nodes.apply(nodeId, { passwords: done.passwords.set });
      return { ...nodeReport(this.#nodes, nodeId, wasBrought ? 'APPLIED' : 'UNCHANGED'), blastRadius: null };
    } catch (error) {
      if (error instanceof ServiceError) {
        const rejection = this.#nodes.recordFailure(nodeId, error);
        return { ...nodeReport(this.#nodes, nodeId, 'REJECTED', rejection), blastRadius: null };
      }
      this.#options.onFault(error);
      const message = 'The result on this node could not be stored: the node is compared again soon';
      const failure = this.#nodes.recordFailure(nodeId, new ServiceError('INTERNAL_ERROR', message));
      return { ...nodeReport(this.#nodes, nodeId, 'UNKNOWN', failure), blastRadius: null };
    }
  }

  /** `null` if the node must be synchronized instead, because it is behind or the result differs. */
  async #repeatOn(
    nodeId: number,
    { applied, passwords, revision, isPlain }: FirstNodeWrites,
  ): Promise<readonly WriteReport[] | null> {
    const nodes = this.#nodes;
    const { id } = nodes.record;
    if (!isPlain || nodes.node(nodeId).revision !== revision) return null;
    const { writer } = await nodes.access(nodeId);
    const reports = await writer.write(applied, FOLLOWER_MS);
    const own = { changes: reports.flatMap(({ changes }) => changes) };
    const { set, unconfirmed } = passwordsAfter(changesOf(applied), own);
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
    return reports;
  }
}

export const PLAIN: ReadonlySet<ChangeOutcome> = new Set<ChangeOutcome>(['APPLIED', 'UNCHANGED']);

export const changesOf = (writes: readonly AccessWrite[]) => writes.flatMap(({ changes }) => changes);

export const nodeReport = (
  nodes: SyncedNodes,
  nodeId: number,
  outcome: ChangeOutcome,
  error: ServiceError | null = null,
): NodeReport => ({ nodeId, brokerId: nodes.node(nodeId).brokerId, outcome, error });
