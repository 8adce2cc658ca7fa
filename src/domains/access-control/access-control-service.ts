import { type ListConnection, listConnection, type PageArguments } from '../../gateway/paging.ts';
import { notFound, ServiceError } from '../../platform/errors.ts';
import { runInSlices } from '../../platform/scheduling/sliced-task.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';
import type { BrokerRuntime, BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { ClientService, ConnectedClients } from '../clients/client-service.ts';
import type { AccessDiff } from './documents/access-diff.ts';
import { type AccessDocument, documentOf } from './documents/access-document.ts';
import { type ImportSource, planImport } from './documents/access-import.ts';
import { explainAccess, whoCan } from './explain/access-explainer.ts';
import type { AccessAction, AccessQuery, Explanation, Grantee } from './explain/access-explanation.ts';
import { AccessView, ANONYMOUS, RoleHolders, type Seen } from './graph/access-view.ts';
import type { AccessClient, AccessGroup, AccessPolicy, AccessRole } from './policy/access-model.ts';
import { AccessIndex, type AccessSnapshot } from './reading/access-index.ts';
import {
  type ClientPageArguments,
  clientsPage,
  type GroupPageArguments,
  groupsPage,
  type RolePageArguments,
  rolesPage,
} from './reading/access-pages.ts';
import type { AccessChange } from './writing/access-change.ts';
import type { WriteReport } from './writing/access-report.ts';
import { AccessWriter, type WriteOptions } from './writing/access-writer.ts';

/** Changes, or how they follow from what the broker has. */
export type WantedChanges = readonly AccessChange[] | ((policy: AccessPolicy) => readonly AccessChange[]);

export interface ImportRequest {
  readonly source: ImportSource;
  /** Remove what the source does not name. */
  readonly deleteOthers: boolean;
  /** By user name. */
  readonly passwords: ReadonlyMap<string, string>;
  /** Of accounts that are there, too. */
  readonly setPasswords: boolean;
  readonly dryRun: boolean;
  readonly mayControl: boolean;
}

export type AccessWriteOptions = Pick<WriteOptions, 'dryRun' | 'mayControl'>;

export interface ImportReport extends Omit<AccessDiff, 'changes'> {
  readonly report: WriteReport;
}

/** Access control that several brokers have in common, as one. */
export interface SharedAccess {
  /** The broker whose access control is read. Errors: BROKER_UNREACHABLE. */
  reader(): BrokerRecord;
  write(wanted: WantedChanges, options: AccessWriteOptions): Promise<WriteReport>;
}

/** The access control of one broker by itself. */
export interface OneAccess {
  readonly index: Pick<AccessIndex, 'read' | 'current'>;
  readonly writer: Pick<AccessWriter, 'write'>;
}

export interface AccessControlOptions {
  readonly runtimes: BrokerRuntimes;
  readonly clients: ClientService;
  /** Null: the broker has its own. */
  readonly sharedOf?: (broker: BrokerRecord) => SharedAccess | null;
  /** What a broker belongs to that has its access control in common with others: it is not changed by itself. Null: nothing. */
  readonly sharedBy?: (broker: BrokerRecord) => { readonly id: string; readonly name: string } | null;
}

interface BrokerAccess {
  readonly index: AccessIndex;
  readonly writer: AccessWriter;
}

/**
 * The access control of brokers: one index and one writer per broker, shared by everybody. Reading ends within the deadline that
 * every broker has; writing takes as long as the writer allows, because a list of changes is many commands.
 */
export class AccessControlService {
  readonly #runtimes: BrokerRuntimes;
  readonly #clients: ClientService;
  readonly #sharedOf: NonNullable<AccessControlOptions['sharedOf']>;
  readonly #sharedBy: NonNullable<AccessControlOptions['sharedBy']>;
  readonly #brokers = new Map<string, BrokerAccess>();
  readonly #holders = new WeakMap<AccessPolicy, RoleHolders>();

  constructor({ runtimes, clients, sharedOf = () => null, sharedBy = () => null }: AccessControlOptions) {
    this.#runtimes = runtimes;
    this.#clients = clients;
    this.#sharedOf = sharedOf;
    this.#sharedBy = sharedBy;
    runtimes.onRuntime((runtime, change) => {
      if (change === 'CLOSING') this.#close(runtime.id);
    });
  }

  /** Errors: of a broker that cannot be asked; NOT_SUPPORTED_BY_BROKER without dynamic security. */
  async view(broker: BrokerRecord): Promise<AccessView> {
    const reader = this.#readerOf(broker);
    return this.#viewOf(broker, await this.#runtimes.ask(reader, (runtime) => this.#of(reader, runtime).index.read()));
  }

  /** Errors: as `view`; INVALID. */
  async clients(broker: BrokerRecord, args: ClientPageArguments): Promise<ListConnection<Seen<AccessClient>>> {
    const view = await this.view(broker);
    return seenPage(view, clientsPage(view.snapshot, args));
  }

  /** Errors: as `clients`. */
  async groups(broker: BrokerRecord, args: GroupPageArguments): Promise<ListConnection<Seen<AccessGroup>>> {
    const view = await this.view(broker);
    return seenPage(view, groupsPage(view.snapshot, args));
  }

  /** Errors: as `clients`. */
  async roles(broker: BrokerRecord, args: RolePageArguments): Promise<ListConnection<Seen<AccessRole>>> {
    const view = await this.view(broker);
    return seenPage(view, rolesPage(view.snapshot, args));
  }

  /** A page of one, with the account of this name. Errors: as `view`; NOT_FOUND. */
  async onlyClient(broker: BrokerRecord, username: string): Promise<ListConnection<Seen<AccessClient>>> {
    const client = (await this.view(broker)).client(username);
    if (client === null) throw notFound('client', username);
    return {
      edges: [{ cursor: username, node: client }],
      pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: username, endCursor: username },
      totalCount: 1,
    };
  }

  /**
   * Errors: as `view`, before anything was sent; IN_USE (it belongs to a cluster that has its access control in common). What became of
   * the changes is the report's.
   */
  async write(broker: BrokerRecord, wanted: WantedChanges, options: AccessWriteOptions): Promise<WriteReport> {
    const shared = this.#sharedOf(broker);
    if (shared !== null) return shared.write(wanted, options);
    const by = this.#sharedBy(broker);
    if (by !== null) throw writtenByOthers(broker);
    const { index, writer } = await this.alone(broker);
    const changes = typeof wanted === 'function' ? wanted((await index.read()).policy) : wanted;
    return writer.write(changes, options);
  }

  /** Errors: as `view`; INVALID. */
  async explain(broker: BrokerRecord, question: AccessQuery): Promise<Seen<Explanation>> {
    const view = await this.view(broker);
    return { view, object: await runInSlices(explainAccess(view.policy, view.snapshot.dialect, question)) };
  }

  /** Errors: as `explain`. */
  async whoCan(
    broker: BrokerRecord,
    action: AccessAction,
    topic: string,
    args: PageArguments,
  ): Promise<ListConnection<Seen<Grantee>>> {
    const view = await this.view(broker);
    const grantees = await runInSlices(whoCan(view.policy, view.snapshot.dialect, action, topic));
    const { edges, ...page } = listConnection(grantees.map(listed), args);
    return { ...page, edges: edges.map(({ cursor, node }) => ({ cursor, node: { view, object: node.grantee } })) };
  }

  /** Errors: as `view`. */
  async exportDocument(broker: BrokerRecord): Promise<AccessDocument> {
    // It is kept, and compared with the next one: what others changed a moment ago belongs into it.
    const reader = this.#readerOf(broker);
    const { policy } = await this.#runtimes.ask(reader, (runtime) => this.#of(reader, runtime).index.current());
    return runInSlices(documentOf(policy));
  }

  /** Errors: as `view`; INVALID with every issue of the source. */
  async importDocument(broker: BrokerRecord, request: ImportRequest): Promise<ImportReport> {
    const reader = this.#readerOf(broker);
    const { policy, dialect } = await (await this.alone(reader)).index.current();
    const { source, dryRun, mayControl, deleteOthers, passwords, setPasswords } = request;
    const gatewayUsername = reader.username;
    const options = { deleteOthers, passwords, setPasswords, gatewayUsername };
    const { changes, ...plan } = await runInSlices(planImport(policy, dialect, source, options));
    return { ...plan, report: await this.write(broker, changes, { dryRun, mayControl }) };
  }

  /** Also of a broker that has it in common with others: for who keeps them equal. Errors: as `view`. */
  alone(broker: BrokerRecord): Promise<OneAccess> {
    return this.#runtimes.ask(broker, async (runtime) => this.#of(broker, runtime));
  }

  close(): void {
    for (const id of [...this.#brokers.keys()]) this.#close(id);
  }

  #close(id: string): void {
    this.#brokers.get(id)?.index.close();
    this.#brokers.delete(id);
  }

  /** Errors: BROKER_UNREACHABLE. */
  #readerOf(broker: BrokerRecord): BrokerRecord {
    return this.#sharedOf(broker)?.reader() ?? broker;
  }

  /** The entry's user name is as long as its runtime: a change of it makes a new one. */
  #of(broker: BrokerRecord, { id, controls, link, sys }: BrokerRuntime): BrokerAccess {
    let access = this.#brokers.get(id);
    if (access === undefined) {
      const index = new AccessIndex({
        controls,
        session: link,
        brokerVersion: () => sys.valueOf('$SYS/broker/version'),
      });
      const writer = new AccessWriter({
        index,
        controls,
        session: link,
        gatewayUsername: broker.username,
        connectedClients: async () => connectedNow(await this.#clients.connected(broker)),
      });
      access = { index, writer };
      this.#brokers.set(id, access);
    }
    return access;
  }

  #viewOf(broker: BrokerRecord, snapshot: AccessSnapshot): AccessView {
    let holders = this.#holders.get(snapshot.policy);
    if (holders === undefined) {
      holders = new RoleHolders(snapshot.policy);
      this.#holders.set(snapshot.policy, holders);
    }
    return new AccessView({ broker, snapshot, holders, connected: () => this.#clients.connected(broker) });
  }
}

function seenPage<T>(view: AccessView, { edges, ...page }: ListConnection<T>): ListConnection<Seen<T>> {
  return { ...page, edges: edges.map(({ cursor, node }) => ({ cursor, node: { view, object: node } })) };
}

/** Does not name the cluster: whoever asks may see this broker and not that there are others. */
const writtenByOthers = (broker: BrokerRecord) =>
  new ServiceError(
    'IN_USE',
    `"${broker.name}" is a node of a cluster, whose nodes have the same access control: change that of the cluster`,
  );

/** No account has the empty name. */
const listed = (grantee: Grantee) => ({ id: grantee.username ?? '', grantee });

const connectedNow = ({ clients, isComplete }: ConnectedClients) => ({
  clients: clients.map(({ clientid, username }) => ({
    clientId: clientid,
    username: username === ANONYMOUS ? null : username,
  })),
  isComplete,
});
