import { isDeepStrictEqual } from 'node:util';
import type { WantedChanges } from '../../access-control/access-control-service.ts';
import { policyOf } from '../../access-control/documents/access-document.ts';
import type { AccessChange } from '../../access-control/writing/access-change.ts';
import type { NodeReport, WriteReport } from '../../access-control/writing/access-report.ts';
import type { BrokerRecord } from '../../brokers/broker-directory.ts';
import { notFound, ServiceError } from '../../errors.ts';
import { inTurns } from '../../steps.ts';
import type { ClusterNodeRecord, ClusterRecord } from '../model/cluster.ts';
import type { ClusterRows } from './cluster-rows.ts';
import { differencesOf } from './differences.ts';
import type { NodeAccess } from './node-access.ts';
import type { NodeStates } from './node-states.ts';

export interface KeptClusterOptions {
  readonly id: string;
  readonly recordOf: () => ClusterRecord | null;
  readonly brokerOf: (brokerId: string) => BrokerRecord | null;
  readonly isConnected: (brokerId: string) => boolean;
  readonly access: NodeAccess;
  readonly rows: ClusterRows;
  readonly states: NodeStates;
  /** One after the other, over all processes. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** Passwords are kept for nodes that are away. */
  readonly keepsPasswords: () => boolean;
}

/**
 * A cluster whose nodes this service keeps equal: their dynamic security is that of the cluster's document.
 *
 * A write is done on one node, whose result becomes the document, and then on the others in the order of their numbers. A node that was
 * away or refused is behind, and brought to the document by what differs as soon as it is reached. What somebody else changed on a node
 * is told, and undone when that is asked for. Passwords cannot be read, so accounts that may lack theirs on a node are listed there.
 */
export class KeptCluster {
  readonly #options: KeptClusterOptions;

  constructor(options: KeptClusterOptions) {
    this.#options = options;
  }

  /** The node by which the cluster is read: the first that is reached and equal, else the first that is reached. */
  reader(): ClusterNodeRecord | null {
    const reached = this.#record.nodes.filter((node) => this.#isReached(node));
    return reached.find(({ nodeId }) => this.#options.states.of(nodeId).state === 'EQUAL') ?? reached[0] ?? null;
  }

  /** Takes over what the node has. Errors: those of the node. */
  async found(nodeId: number): Promise<void> {
    const { id, access, rows, states, inTurn } = this.#options;
    await inTurn(async () => {
      const document = await access.exportDocument(this.#broker(this.#node(nodeId)));
      await rows.change(id, { document, nodeIds: [nodeId], passwords: new Map() });
      states.set(nodeId, { state: 'EQUAL' });
    });
  }

  /**
   * Errors: BROKER_UNREACHABLE (no node is reached), IN_USE (no node is as the cluster has it), and as of a single broker. What became of
   * the changes is the report's; with an outcome of each node.
   */
  async write(wanted: WantedChanges, dryRun: boolean): Promise<WriteReport> {
    const { access, inTurn } = this.#options;
    if (dryRun) return access.write(this.#broker(this.#reached()), wanted, true);
    return inTurn(async () => {
      await this.#recover();
      const first = await this.#equalNode();
      const { document } = this.#record;
      if (document === null) throw new ServiceError('BROKER_UNREACHABLE', 'The cluster could not be read yet');
      const changes = typeof wanted === 'function' ? wanted(await inTurns(policyOf(document))) : wanted;
      return this.#write(first, changes);
    });
  }

  /** Compares a node with the document; brings it there where it is behind, and with `repair` where somebody else changed it. */
  async look(nodeId: number, { repair = this.#record.autoRepair }: { readonly repair?: boolean } = {}): Promise<void> {
    const { access, states, inTurn } = this.#options;
    await inTurn(async () => {
      await this.#recover();
      const { document, revision } = this.#record;
      const node = this.#record.nodes.find((one) => one.nodeId === nodeId);
      if (node === undefined || document === null) return;
      try {
        const broker = this.#broker(node);
        const diff = await access.differences(broker, document);
        const isBehind = node.revision !== revision;
        if (diff.changes.length === 0 && !isBehind) states.set(nodeId, { state: 'EQUAL' });
        else if (isBehind || repair) await this.#bring(node, diff.needPassword);
        else states.set(nodeId, { state: 'DRIFTED', differences: differencesOf(diff.changes) });
      } catch (error) {
        this.#failed(node, error);
      }
    });
  }

  /** What somebody else changed on a node becomes the document, and goes to the others. Errors: those of the node. */
  async adopt(nodeId: number): Promise<void> {
    await this.found(nodeId);
    for (const node of this.#record.nodes) if (node.nodeId !== nodeId) await this.look(node.nodeId);
  }

  async #write(first: ClusterNodeRecord, changes: readonly AccessChange[]): Promise<WriteReport> {
    const { id, access, rows, keepsPasswords } = this.#options;
    const broker = this.#broker(first);
    const before = this.#record.document;
    const passwords = passwordsIn(changes);
    await rows.begin(id, { nodeId: first.nodeId, usernames: [...passwords.keys()] });
    let report: WriteReport;
    try {
      report = await access.write(broker, changes, false);
    } catch (error) {
      // Before anything was sent.
      await rows.abandon(id);
      throw error;
    }
    const nodes: NodeReport[] = [{ ...placeOf(first), outcome: report.outcome, error: null }];
    const done = new Map([...passwords].filter(([username]) => isDone(report, changes, username)));
    let document: typeof before;
    try {
      document = await access.exportDocument(broker);
    } catch (error) {
      // It went away: what it has now is read when it is back, or given up.
      this.#failed(first, error);
      const others = this.#record.nodes.filter(({ nodeId }) => nodeId !== first.nodeId);
      const lost = serviceErrorOf(error);
      return { ...report, nodes: [...nodes, ...others.map((node) => failed(node, lost))] };
    }
    if (done.size === 0 && isDeepStrictEqual(document, before)) {
      await rows.abandon(id);
      const others = this.#record.nodes.filter(({ nodeId }) => nodeId !== first.nodeId);
      return { ...report, nodes: [...nodes, ...others.map((node) => unchanged(node))] };
    }
    const previous = this.#record.revision;
    await rows.change(id, { document, nodeIds: [first.nodeId], passwords: keepsPasswords() ? done : new Map() });
    await this.#notMissing(first.nodeId, done);
    for (const node of this.#record.nodes) {
      if (node.nodeId !== first.nodeId)
        nodes.push(await this.#follow(node, { changes, report, passwords: done, previous }));
    }
    return { ...report, nodes: nodes.sort((one, other) => one.nodeId - other.nodeId) };
  }

  /** Brings to a node what was just done on the first one. Never rejects. */
  async #follow(node: ClusterNodeRecord, { changes, report, passwords, previous }: Followed): Promise<NodeReport> {
    const { id, access, rows, states, keepsPasswords } = this.#options;
    const { revision } = this.#record;
    try {
      if (!this.#isReached(node)) throw new ServiceError('BROKER_UNREACHABLE', 'The node is not connected');
      const isAlike = node.revision === previous && states.of(node.nodeId).state === 'EQUAL';
      const own = isAlike ? await access.write(this.#broker(node), changes, false) : null;
      if (own !== null && sameOutcomes(own, report)) {
        const missingPasswords = node.missingPasswords.filter((username) => !passwords.has(username));
        await rows.nodeHas(id, node.nodeId, { revision, missingPasswords });
        states.set(node.nodeId, { state: 'EQUAL' });
        return { ...placeOf(node), outcome: own.outcome, error: null };
      }
      await this.#bring(node, [], passwords);
      return { ...placeOf(node), outcome: 'APPLIED', error: null };
    } catch (error) {
      const missing = keepsPasswords() ? [] : passwords.keys();
      await rows.nodeHas(id, node.nodeId, { missingPasswords: [...node.missingPasswords, ...missing] });
      return failed(node, this.#failed(node, error));
    }
  }

  /** Errors: those of the node, which stays behind. */
  async #bring(
    node: ClusterNodeRecord,
    needPassword: readonly string[],
    given: ReadonlyMap<string, string> = new Map(),
  ): Promise<void> {
    const { id, access, rows, states } = this.#options;
    const { document, revision } = this.#record;
    if (document === null) return;
    const broker = this.#broker(node);
    const kept = await rows.passwords(id);
    const passwords = new Map(given);
    for (const [username, { password, revision: setWith }] of kept) {
      if (setWith > (node.revision ?? 0) || needPassword.includes(username)) passwords.set(username, password);
    }
    const { report, needPassword: without } = await access.importDocument(broker, {
      source: { document },
      deleteOthers: true,
      passwords,
      setPasswords: true,
      dryRun: false,
    });
    const wrong = report.changes.find(({ outcome }) => outcome !== 'APPLIED' && outcome !== 'UNCHANGED');
    if (wrong !== undefined) {
      throw wrong.error ?? new ServiceError('BROKER_REJECTED', 'The node did not take what the cluster has');
    }
    const exists = new Set(document.clients.map(({ username }) => username));
    const missingPasswords = [...node.missingPasswords, ...without].filter(
      (username) => exists.has(username) && !passwords.has(username) && username !== broker.username,
    );
    await rows.nodeHas(id, node.nodeId, { revision, missingPasswords });
    states.set(node.nodeId, { state: 'EQUAL' });
  }

  /** A process ended in the middle of a write. What its node has counts, if that can be read; else what was before. */
  async #recover(): Promise<void> {
    const { id, access, rows } = this.#options;
    const { writing, nodes } = this.#record;
    if (writing === null) return;
    const node = nodes.find(({ nodeId }) => nodeId === writing.nodeId);
    const document =
      node && this.#isReached(node) ? await access.exportDocument(this.#broker(node)).catch(() => null) : null;
    if (document === null) {
      // Brought back to the document when it is reached.
      if (node) await rows.nodeHas(id, node.nodeId, { revision: -1, missingPasswords: node.missingPasswords });
      await rows.abandon(id);
      return;
    }
    await rows.change(id, { document, nodeIds: [writing.nodeId], passwords: new Map() });
    for (const other of this.#record.nodes) {
      if (other.nodeId === writing.nodeId) continue;
      await rows.nodeHas(id, other.nodeId, { missingPasswords: [...other.missingPasswords, ...writing.usernames] });
    }
  }

  /** A node to begin a write with. Errors: BROKER_UNREACHABLE, IN_USE. */
  async #equalNode(): Promise<ClusterNodeRecord> {
    const { access, states } = this.#options;
    const { document, revision, nodes } = this.#record;
    let problem: ServiceError | null = null;
    for (const node of nodes) {
      if (!this.#isReached(node)) continue;
      try {
        const diff = document && (await access.differences(this.#broker(node), document));
        if (node.revision === revision && diff?.changes.length === 0) {
          states.set(node.nodeId, { state: 'EQUAL' });
          return node;
        }
        if (node.revision !== revision) {
          await this.#bring(node, diff?.needPassword ?? []);
          return this.#node(node.nodeId);
        }
        states.set(node.nodeId, { state: 'DRIFTED', differences: differencesOf(diff?.changes ?? []) });
        problem ??= new ServiceError(
          'IN_USE',
          'Somebody else changed every node of the cluster that is reached: repair one, or take over what it has',
        );
      } catch (error) {
        problem ??= this.#failed(node, error);
      }
    }
    throw problem ?? unreached();
  }

  #reached(): ClusterNodeRecord {
    const node = this.reader();
    if (node === null) throw unreached();
    return node;
  }

  async #notMissing(nodeId: number, passwords: ReadonlyMap<string, string>): Promise<void> {
    const { missingPasswords } = this.#node(nodeId);
    if (!missingPasswords.some((username) => passwords.has(username))) return;
    await this.#options.rows.nodeHas(this.#options.id, nodeId, {
      missingPasswords: missingPasswords.filter((username) => !passwords.has(username)),
    });
  }

  #failed(node: ClusterNodeRecord, error: unknown): ServiceError {
    const known = serviceErrorOf(error);
    const isBehind = node.revision !== this.#record.revision;
    this.#options.states.set(node.nodeId, { state: isBehind ? 'BEHIND' : 'UNKNOWN', error: known });
    return known;
  }

  #isReached({ brokerId }: ClusterNodeRecord): boolean {
    return this.#options.isConnected(brokerId);
  }

  #broker({ brokerId }: ClusterNodeRecord): BrokerRecord {
    const broker = this.#options.brokerOf(brokerId);
    if (broker === null) throw notFound('broker', brokerId);
    return broker;
  }

  #node(nodeId: number): ClusterNodeRecord {
    const node = this.#record.nodes.find((one) => one.nodeId === nodeId);
    if (node === undefined) throw notFound('node', String(nodeId));
    return node;
  }

  get #record(): ClusterRecord {
    const record = this.#options.recordOf();
    if (record === null) throw notFound('cluster', this.#options.id);
    return record;
  }
}

interface Followed {
  readonly changes: readonly AccessChange[];
  readonly report: WriteReport;
  readonly passwords: ReadonlyMap<string, string>;
  /** Revision of the document before. */
  readonly previous: number;
}

/** The last one of each account counts. */
function passwordsIn(changes: readonly AccessChange[]): Map<string, string> {
  const passwords = new Map<string, string>();
  for (const change of changes) {
    if (change.kind === 'DELETE_CLIENT') passwords.delete(change.username);
    if (change.kind !== 'PUT_CLIENT' || change.fields.password === undefined) continue;
    passwords.set(change.username, change.fields.password);
  }
  return passwords;
}

/** Whether the password may have been set: also where it is not known, so that the nodes do not stay apart. */
const isDone = ({ changes: reports }: WriteReport, changes: readonly AccessChange[], username: string): boolean =>
  changes.some(
    (change, index) =>
      change.kind === 'PUT_CLIENT' &&
      change.username === username &&
      change.fields.password !== undefined &&
      reports[index]?.outcome !== 'REJECTED',
  );

const sameOutcomes = (one: WriteReport, other: WriteReport): boolean =>
  one.changes.every(
    ({ outcome }, index) =>
      outcome === other.changes[index]?.outcome && outcome !== 'UNKNOWN' && outcome !== 'PARTLY_APPLIED',
  );

const placeOf = ({ nodeId, brokerId }: ClusterNodeRecord) => ({ nodeId, brokerId });
const unchanged = (node: ClusterNodeRecord): NodeReport => ({ ...placeOf(node), outcome: 'UNCHANGED', error: null });
const failed = (node: ClusterNodeRecord, error: ServiceError): NodeReport => ({
  ...placeOf(node),
  outcome: 'REJECTED',
  error,
});
const unreached = () => new ServiceError('BROKER_UNREACHABLE', 'No node of the cluster is reached');

/** A bug is nobody's answer. */
function serviceErrorOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  throw error;
}
