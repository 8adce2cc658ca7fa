import type { Logger } from 'pino';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { notFound, nullOn, ServiceError } from '../../platform/errors.ts';
import { type ListConnection, listConnection, type PageArguments } from '../../platform/paging.ts';
import { ConcurrencyLimit } from '../../platform/scheduling/concurrency-limit.ts';
import { runInSlices } from '../../platform/scheduling/sliced-task.ts';
import type { AccessAction, AccessQuery, Grantee } from '../../protocol/apis/access-control/access-explanation.ts';
import type { AccessDialect, AccessPolicy } from '../../protocol/apis/access-control/access-model.ts';
import { DYNSEC_API, getClient, parseConnections } from '../../protocol/control/dynamic-security.ts';
import type { ControlCaller } from '../../protocol/control/plugin.ts';
import type { BrokerCache, BrokerRecord } from '../brokers/broker-cache.ts';
import { BrokerFeeds } from '../brokers/broker-feeds.ts';
import type { BrokerRuntime } from '../brokers/broker-runtime.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { ClientService, ClientsOfBroker } from '../clients/client-service.ts';
import type { AccessDiff, DiffOptions } from './documents/access-diff.ts';
import { type AccessDocument, documentOf } from './documents/access-document.ts';
import { type ImportSource, planImport } from './documents/access-import.ts';
import { explainAccess } from './explain/access-explainer.ts';
import { type ClusterExplanation, type NodeDecision, nodeRemarks } from './explain/node-decisions.ts';
import { whoCan } from './explain/who-can.ts';
import { AccessView, ANONYMOUS, type Viewed } from './graph/access-view.ts';
import { ACCESS_CONTENT, type AccessEvent, type AccessState, accessSource } from './live/access-feed.ts';
import { FollowedGroup } from './live/followed-group.ts';
import { AccessIndex } from './reading/access-index.ts';
import { DecidingPlugins } from './reading/deciding-plugins.ts';
import type { AccessWrite } from './writing/access-change.ts';
import type { WriteReport } from './writing/access-report.ts';
import { AccessWriter } from './writing/access-writer.ts';
import { WriteQueue } from './writing/write-queue.ts';

export interface ImportRequest extends Omit<DiffOptions, 'gatewayUsername'> {
  readonly source: ImportSource;
  readonly dryRun: boolean;
  readonly mayControl: boolean;
}

export interface ImportReport extends WriteReport, Omit<AccessDiff, 'changes'> {
  readonly requested: AccessDiff['changes'];
}

interface SharedNode {
  readonly nodeId: number;
  readonly broker: BrokerRecord;
}

export interface SharedAccess {
  /** Returns the broker whose access control is read. Errors: BROKER_UNREACHABLE. */
  reader(): BrokerRecord;
  nodes(): readonly SharedNode[];
  /** Returns the dialect without the features that a node lacks, which the nodes therefore cannot share. */
  weakest(dialect: AccessDialect): Promise<AccessDialect>;
  write(write: AccessWrite, dryRun: boolean): Promise<WriteReport>;
}

export interface BrokerAccess {
  readonly index: AccessIndex;
  readonly writer: AccessWriter;
  /** Merges concurrent writes of users. The synchronization of clusters uses `writer`. */
  readonly queue: WriteQueue;
  readonly plugins: DecidingPlugins;
}

interface AccessControlOptions {
  readonly runtimes: BrokerRuntimes;
  readonly clients: ClientService;
  readonly brokers: Pick<BrokerCache, 'get' | 'onRemove'>;
  readonly log: Logger;
}

interface AccessSharing {
  /** The access control that the nodes of a cluster share, for the entry of the cluster; `null` for other brokers. */
  readonly sharedOf: (broker: BrokerRecord) => SharedAccess | null;
  /** Whether the broker is a node of such a cluster. */
  readonly isNode: (broker: BrokerRecord) => boolean;
}

/**
 * Time between two checks of the change index for subscriptions. Writes of others are noticed by the responses that the
 * broker sends to them; the index shows those that were missed. Mosquitto 2.1 logs each check.
 */
const WATCH_CHECK_MS = 10_000;

/** One index and one writer per broker. Writes have no deadline, because a list of changes can have many commands. */
export class AccessControlService {
  readonly #options: AccessControlOptions;
  #sharing: AccessSharing = { sharedOf: () => null, isNode: () => false };
  readonly #brokers = new Map<string, BrokerAccess>();
  readonly #feeds: BrokerFeeds<AccessState>;
  /** A plan of thousands of changes takes up to 100 MB, and its processor time is the same one after the other. */
  readonly #plans = new ConcurrencyLimit({ maxRunning: 1 });

  constructor(options: AccessControlOptions) {
    const { runtimes, brokers: brokerCache, log } = options;
    this.#options = options;
    const onFault = (error: unknown) => log.error({ err: error }, 'access control could not be followed');
    this.#feeds = new BrokerFeeds({ runtimes, brokerCache, onFault }, ACCESS_CONTENT, ({ id }) =>
      accessSource(() => this.#viewOf(id)),
    );
    options.runtimes.onRuntime((runtime, change) => {
      if (change === 'CLOSING') this.#close(runtime.id);
    });
  }

  share(sharing: AccessSharing): void {
    this.#sharing = sharing;
  }

  /** Errors: those of an unreachable broker; NOT_SUPPORTED_BY_BROKER without dynamic security. */
  async view(broker: BrokerRecord, checkMs?: number): Promise<AccessView> {
    const { runtimes, clients } = this.#options;
    const reader = this.#readerOf(broker);
    const snapshot = await runtimes.ask(reader, (runtime) => this.#accessOf(reader, runtime).index.read(checkMs));
    return new AccessView(
      broker,
      snapshot,
      () => clients.connected(broker),
      // A node of a cluster does not report the sessions on other nodes.
      async (username) =>
        reader !== broker || !snapshot.dialect.changeIndex
          ? null
          : runtimes.ask(broker, ({ controls }) => readAddresses(controls, username)),
    );
  }

  /** Errors: as `view`, before the first event. */
  watch(broker: BrokerRecord, options: SubscriberOptions): Promise<LiveSource<AccessEvent>> {
    return this.#options.runtimes.ask(broker, (runtime) => this.#feeds.watch(runtime, '', options));
  }

  /** The members of a group, for filters of clients. Errors: as `view`; NOT_FOUND. */
  async group(broker: BrokerRecord, groupName: string): Promise<FollowedGroup> {
    return new FollowedGroup(await this.view(broker), groupName, (signal) => this.watch(broker, { signal }));
  }

  /**
   * A dry run sends no command. Errors: see `view`, before the first command; IN_USE for a node whose cluster shares
   * its access control; BROKER_TIMEOUT if too many changes wait.
   */
  async write(broker: BrokerRecord, write: AccessWrite, dryRun: boolean): Promise<WriteReport> {
    const shared = this.#sharing.sharedOf(broker);
    if (shared !== null) return shared.write(write, dryRun);
    if (this.#sharing.isNode(broker)) throw nodeOfCluster(broker);
    const { queue, writer } = await this.ofBroker(broker);
    return dryRun ? writer.dryRun(write) : queue.write(write);
  }

  async explain(broker: BrokerRecord, query: AccessQuery): Promise<Viewed<ClusterExplanation>> {
    const view = await this.view(broker);
    const { policy, snapshot } = view;
    const { dialect } = snapshot;
    const { plugins } = await this.ofBroker(this.#readerOf(broker));
    const otherPlugins = dialect.isSoleAuthority ? null : await plugins.read();
    const explanation = await runInSlices(explainAccess(policy, dialect, query, otherPlugins));
    const shared = this.#sharing.sharedOf(broker)?.nodes() ?? [];
    const nodes = await Promise.all(shared.map((node) => this.#decisionOf(node, query)));
    return { ...explanation, nodes, remarks: [...explanation.remarks, ...nodeRemarks(explanation, nodes)], view };
  }

  /** The dialect of which a broker can be given rules: of a cluster, what all nodes support. */
  async sharedDialect(broker: BrokerRecord, dialect: AccessDialect): Promise<AccessDialect> {
    return (await this.#sharing.sharedOf(broker)?.weakest(dialect)) ?? dialect;
  }

  async whoCan(
    broker: BrokerRecord,
    action: AccessAction,
    topic: string,
    args: PageArguments,
  ): Promise<ListConnection<Viewed<Grantee>>> {
    const view = await this.view(broker);
    const { policy, snapshot } = view;
    const grantees = await runInSlices(whoCan(policy, snapshot.dialect, action, topic));
    const { edges, ...page } = listConnection(grantees.map(listed), args, 'Grantee');
    return { ...page, edges: edges.map(({ cursor, node }) => ({ cursor, node: { ...node.grantee, view } })) };
  }

  async exportDocument(broker: BrokerRecord): Promise<AccessDocument> {
    return runInSlices(documentOf(await this.policy(broker)));
  }

  /** Includes recent changes of other clients: users store and compare documents. Errors: see `view`. */
  async policy(broker: BrokerRecord): Promise<AccessPolicy> {
    const { policy } = await (await this.ofBroker(this.#readerOf(broker))).index.current();
    return policy;
  }

  async importDocument(broker: BrokerRecord, request: ImportRequest): Promise<ImportReport> {
    const reader = this.#readerOf(broker);
    const { policy, dialect } = await (await this.ofBroker(reader)).index.current();
    const shared = await this.sharedDialect(broker, dialect);
    const { source, dryRun, mayControl, ...options } = request;
    const gatewayUsername = reader.username;
    const planned = async () => {
      const task = planImport(policy, shared, source, { ...options, gatewayUsername });
      const { changes, ...plan } = await runInSlices(task);
      const write = { changes, mayControl };
      return { ...plan, requested: changes, write, report: dryRun ? await this.write(broker, write, true) : null };
    };
    const { write, report, ...plan } = await this.#plans.run(planned);
    return { ...plan, ...(report ?? (await this.write(broker, write, false))) };
  }

  /** For the synchronization of clusters: also returns the access control of a single node. Errors: see `view`. */
  ofBroker(broker: BrokerRecord): Promise<BrokerAccess> {
    return this.#options.runtimes.ask(broker, async (runtime) => this.#accessOf(broker, runtime));
  }

  close(): void {
    this.#feeds.close();
    for (const id of [...this.#brokers.keys()]) this.#close(id);
  }

  #close(id: string): void {
    this.#brokers.get(id)?.index.close();
    this.#brokers.delete(id);
  }

  async #viewOf(brokerId: string): Promise<AccessView> {
    const broker = this.#options.brokers.get(brokerId);
    if (broker === null) throw notFound('broker', brokerId);
    return this.view(broker, WATCH_CHECK_MS);
  }

  async #decisionOf({ nodeId, broker }: SharedNode, query: AccessQuery): Promise<NodeDecision> {
    const node = { nodeId, brokerId: broker.id };
    try {
      if (!this.#options.runtimes.isConnected(broker.id)) throw notConnected(broker);
      const { policy, dialect } = await (await this.ofBroker(broker)).index.read();
      const { allowed, reason } = await runInSlices(explainAccess(policy, dialect, query));
      return { ...node, allowed, reason, error: null };
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return { ...node, allowed: null, reason: null, error };
    }
  }

  #readerOf(broker: BrokerRecord): BrokerRecord {
    return this.#sharing.sharedOf(broker)?.reader() ?? broker;
  }

  /** A changed user name of the broker entry creates a new runtime, so it is constant here. */
  #accessOf(broker: BrokerRecord, { id, controls, link, sys }: BrokerRuntime): BrokerAccess {
    const cached = this.#brokers.get(id);
    if (cached !== undefined) return cached;
    const brokerVersion = () => sys.valueOf('$SYS/broker/version');
    const index = new AccessIndex({ controls, session: link, brokerVersion });
    const writer = new AccessWriter({
      index,
      controls,
      session: link,
      gatewayUsername: broker.username,
      connectedClients: async () => connectedNow(await this.#options.clients.connected(broker)),
    });
    const plugins = new DecidingPlugins(controls, link);
    const access = { index, writer, plugins, queue: new WriteQueue((writes) => writer.write(writes)) };
    this.#brokers.set(id, access);
    return access;
  }
}

async function readAddresses(controls: ControlCaller, username: string): Promise<readonly (string | null)[] | null> {
  const { command, fields } = getClient(username);
  return controls.call(DYNSEC_API, command, fields).then(parseConnections).catch(nullOn('NOT_FOUND'));
}

/** The message does not name the cluster, because the caller may not have access to its other nodes. */
const nodeOfCluster = (broker: BrokerRecord) =>
  new ServiceError(
    'IN_USE',
    `"${broker.name}" is a node of a cluster, and its nodes share their access control: change it in the cluster`,
  );

const notConnected = ({ name }: BrokerRecord) => new ServiceError('BROKER_UNREACHABLE', `"${name}" is not connected`);

/** "" is a unique id for connections without a user name, because accounts cannot have an empty name. */
const listed = (grantee: Grantee) => ({ id: grantee.username ?? '', grantee });

const connectedNow = ({ clients, isComplete }: ClientsOfBroker) => ({
  clients: clients.map(({ clientid, username }) => ({
    clientId: clientid,
    username: username === ANONYMOUS ? null : username,
  })),
  isComplete,
});
