import { ServiceError } from '../../../platform/errors.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessWriteOptions, WantedChanges } from '../../access-control/access-control-service.ts';
import { type AccessDocument, documentOf, policyOf } from '../../access-control/documents/access-document.ts';
import type { AccessDialect } from '../../access-control/policy/access-model.ts';
import type { AccessChange } from '../../access-control/writing/access-change.ts';
import { AccessPlanner } from '../../access-control/writing/access-planner.ts';
import type { WriteReport } from '../../access-control/writing/access-report.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { ClusterNodeRecord, ClusterRecord } from '../model/cluster.ts';
import { ClusterWrite } from './cluster-write.ts';
import { KeptNodes, type KeptNodesOptions } from './kept-nodes.ts';
import { differencesTo } from './node-access.ts';

export interface KeptClusterOptions extends KeptNodesOptions {
  /** One after the other, over all processes; the record is then as it is stored. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** Reads the record as it is stored, without a turn. */
  readonly refresh: () => Promise<unknown>;
  /** Passwords are kept for nodes that are away. */
  readonly keepsPasswords: () => boolean;
  /** A failure that is no node's. */
  readonly onFault: (error: unknown) => void;
}

/**
 * A cluster whose nodes this service keeps equal: their dynamic security is that of the cluster's document.
 *
 * A write is done on one node, what it did there comes into the document, and then it is done on the others in the order of their
 * numbers. A node that was away or refused is behind, and brought to the document by what differs as soon as it is reached; so is the
 * node of a write of which nobody knows how it ended. What somebody else changed on a node is told, and undone when that is asked for.
 * Passwords cannot be read, so accounts that may lack theirs on a node are listed there; one that somebody else gave an account is not
 * found.
 */
export class KeptCluster {
  readonly #options: KeptClusterOptions;
  readonly #nodes: KeptNodes;
  /** The last turn that was asked for here; never rejects. */
  #underWay: Promise<unknown> = Promise.resolve();

  constructor(options: KeptClusterOptions) {
    this.#options = options;
    this.#nodes = new KeptNodes(options);
  }

  /** The first node that is reached and equal, else the first that is reached. Null: none is. */
  standIn(): ClusterNodeRecord | null {
    const { states, isConnected } = this.#options;
    const reached = this.#record.nodes.filter(({ brokerId }) => isConnected(brokerId));
    return reached.find(({ nodeId }) => states.of(nodeId).state === 'EQUAL') ?? reached[0] ?? null;
  }

  /** By which the cluster is read. Where no node is reached, the first one tells why. Errors: NOT_FOUND. */
  reader(): BrokerRecord {
    return this.#nodes.broker((this.standIn() ?? this.#record.nodes[0])?.nodeId ?? 0);
  }

  /**
   * What the first node has becomes what all have. Before anything is changed all are read, and asked whether they would take it. Errors:
   * those of the nodes, each with its number.
   */
  async found(): Promise<void> {
    const [first, ...others] = this.#record.nodes.map(({ nodeId }) => nodeId);
    if (first === undefined) return;
    await this.#options.inTurn(async () => {
      await Promise.all(others.map((nodeId) => named(nodeId, this.#policyOf(nodeId))));
      const document = await runInSlices(documentOf(await named(first, this.#policyOf(first))));
      for (const nodeId of others) await named(nodeId, this.#nodes.tryOut(nodeId, document));
      await this.#take(first, document);
    });
    for (const nodeId of others) await this.look(nodeId);
  }

  /** Gives a new node what all have, once it is known that it takes it. One that goes away meanwhile is behind. Errors: as `found`. */
  async admit(nodeId: number): Promise<void> {
    await this.#inTurn(async () => {
      const { document } = this.#record;
      if (document !== null) await named(nodeId, this.#nodes.tryOut(nodeId, document));
    });
    await this.look(nodeId);
  }

  /**
   * Errors: BROKER_UNREACHABLE (no node is reached), IN_USE (somebody else changed each one that is), and as of a single broker. What
   * became of the changes is the report's; with an outcome of each node.
   */
  async write(wanted: WantedChanges, { dryRun, mayControl }: AccessWriteOptions): Promise<WriteReport> {
    const { access, rows, keepsPasswords, onFault } = this.#options;
    if (dryRun) {
      const { writer } = await access.alone(this.reader());
      return writer.write(await this.#changesOf(wanted), { dryRun, mayControl });
    }
    return this.#inTurn(async () => {
      const write = new ClusterWrite({ nodes: this.#nodes, rows, keeps: keepsPasswords(), onFault });
      return write.run(await this.#changesOf(wanted), mayControl);
    });
  }

  /** Compares a node with the document, and brings it there where that needs no asking. Never rejects for what the node does. */
  async look(nodeId: number): Promise<void> {
    const { recordOf, refresh } = this.#options;
    try {
      if (await this.#isAsItShould(nodeId)) return this.#nodes.found(nodeId, []);
      // Mostly it is this service that writes just now, here or elsewhere.
      await this.#underWay;
      await refresh();
      if (await this.#isAsItShould(nodeId)) return this.#nodes.found(nodeId, []);
      await this.#inTurn(() => this.#nodes.settle(nodeId));
    } catch (error) {
      if (recordOf()?.nodes.some((node) => node.nodeId === nodeId)) this.#nodes.failed(nodeId, error);
    }
  }

  /** With the passwords that are kept, since nobody can tell whether the node has others. Errors: those of the node. */
  async repair(nodeId: number): Promise<void> {
    const { id, rows } = this.#options;
    await this.#inTurn(async () => {
      const known = await rows.passwords(id);
      const kept = [...known.keys()].filter((username) => known.get(username) !== null);
      await this.#nodes.bring(nodeId, { lacking: kept });
    });
  }

  /**
   * Makes what somebody else changed on a node the document, which goes to the others. Errors: those of the node; NOT_ALLOWED if it
   * changes rights on `$CONTROL/` and `mayControl` is false.
   */
  async adopt(nodeId: number, mayControl: boolean): Promise<void> {
    await this.#inTurn(async () => {
      // What it lacks because it was away is nothing that somebody took from it.
      if (this.#nodes.isBehind(nodeId)) await this.#nodes.bring(nodeId);
      else if ((await this.#nodes.differences(nodeId)).length > 0) {
        const { index } = await this.#nodes.access(nodeId);
        const { policy, dialect } = await index.current();
        const document = await runInSlices(documentOf(policy));
        if (!mayControl && this.#record.document !== null) {
          await checkControlRights(this.#record.document, document, dialect);
        }
        await this.#take(nodeId, document);
      }
    });
    for (const node of this.#record.nodes) await this.look(node.nodeId);
  }

  async #take(nodeId: number, document: AccessDocument): Promise<void> {
    const passwords = { set: new Map<string, string | null>(), doubtful: [] };
    await this.#options.rows.change(this.#record, { document, nodeId, passwords, isInDoubt: false, keeps: false });
    this.#nodes.found(nodeId, []);
  }

  /** Most looks find nothing, and keep nobody from writing. */
  async #isAsItShould(nodeId: number): Promise<boolean> {
    const { document, revision, writing } = this.#record;
    if (document === null || writing !== null || this.#nodes.isBehind(nodeId)) return false;
    if (this.#nodes.lacksWhatOthersHave(nodeId)) return false;
    return (await this.#nodes.differences(nodeId)).length === 0 && this.#record.revision === revision;
  }

  async #changesOf(wanted: WantedChanges): Promise<readonly AccessChange[]> {
    if (typeof wanted !== 'function') return wanted;
    const { document } = this.#record;
    if (document === null) throw new ServiceError('BROKER_UNREACHABLE', 'The cluster could not be read yet');
    return wanted(await runInSlices(policyOf(document)));
  }

  async #policyOf(nodeId: number) {
    const { index } = await this.#nodes.access(nodeId);
    return (await index.current()).policy;
  }

  /** Who ended in the middle of a write has left nodes that nobody knows. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const { rows, inTurn } = this.#options;
    const done = inTurn(async () => {
      if (this.#record.writing !== null) await rows.takeBack(this.#record);
      return work();
    });
    this.#underWay = done.catch(() => undefined);
    return done;
  }

  get #record(): ClusterRecord {
    return this.#nodes.record;
  }
}

/** Errors: NOT_ALLOWED if one document gives other rights on `$CONTROL/` than the other. */
async function checkControlRights(
  before: AccessDocument,
  after: AccessDocument,
  dialect: AccessDialect,
): Promise<void> {
  const policy = await runInSlices(policyOf(before));
  const planner = new AccessPlanner(policy, dialect, { gatewayUsername: null, mayControl: false });
  for (const change of await differencesTo({ policy, dialect }, after, null)) {
    const { error } = planner.next(change);
    if (error?.code === 'NOT_ALLOWED') throw error;
  }
}

async function named<T>(nodeId: number, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { code, message, info } = error;
    throw new ServiceError(code, `Node ${nodeId}: ${message}`, { cause: error, info: { ...info, nodeId } });
  }
}
