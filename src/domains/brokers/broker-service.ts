import { timingSafeEqual } from 'node:crypto';
import type { Broker, ClusterMode, Prisma } from '../../generated/sqlite/client.ts';
import {
  type ProjectRole,
  requireProjectRole,
  requireSignedIn,
  seesBroker,
  type Viewer,
} from '../../platform/auth/viewer.ts';
import { type InputIssue, invalid, notFound, OutOfSight, ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Changes } from '../../platform/storage/changes/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import type { Sealer } from '../../platform/storage/encryption/sealed.ts';
import { RowLock } from '../../platform/storage/postgresql/row-lock.ts';
import { MAX_DESCRIPTION, MAX_NAME, textIssues } from '../../platform/text/texts.ts';
import { type Nullish, withoutNulls } from '../../platform/without-nulls.ts';
import { BROKER_PARTS, type BrokerCache, type BrokerRecord, type BrokerRow } from './broker-cache.ts';
import {
  type BrokerConnectionInput,
  CONNECTION_KEYS,
  type ConnectionRules,
  checkConnection,
} from './broker-connection.ts';
import {
  changesReceiver,
  connectionColumns,
  passwordsNeedAdmin,
  secretsForAnotherReceiver,
  secretsWithoutAddress,
} from './stored-secrets.ts';

type Texts = 'name' | 'description' | 'clusterMode';
type Switches = 'verifyCaCert' | 'metricsEnabled' | 'ha' | 'clientTakeover' | 'boundSessions';
export type BrokerInput = BrokerConnectionInput & Nullish<Pick<Broker, Texts | Switches>>;

export interface BrokerWriter {
  /** Whether the caller is a root administrator, who may enter addresses of this service's own machine. */
  readonly isRootAdmin: boolean;
  /** Whether the caller may change permissions on `$CONTROL/` of the broker. Default: false. */
  readonly mayControl?: boolean;
}

const ORDINARY: BrokerWriter = { isRootAdmin: false };

interface SetupInput {
  readonly issuedTo: string;
  readonly productId: string;
  readonly periodStart: Date;
  readonly periodEnd?: Date | null | undefined;
}

interface BrokerServiceOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly brokers: BrokerCache;
  readonly sealer: Sealer;
  readonly rules: ConnectionRules;
  /** Maximum number of brokers of one project, over all processes. Entries of clusters are created beyond it. */
  readonly maxPerProject: number;
  /** The cluster of which a broker is the entry or a node; `null` if there is none. */
  readonly clusterOf: (brokerId: string) => BrokerCluster | null;
}

export interface BrokerCluster {
  readonly name: string;
  readonly isEntry: boolean;
  /** Whether the node receives passwords that are stored for the cluster. */
  readonly isSentPasswords: boolean;
}

export class BrokerService {
  readonly #options: BrokerServiceOptions;
  readonly #brokers: BrokerCache;
  readonly #lock: RowLock;

  constructor(options: BrokerServiceOptions) {
    this.#options = options;
    this.#brokers = options.brokers;
    this.#lock = new RowLock(options.db);
  }

  /**
   * The broker if the viewer may see it and has the role, and if it is in `projectId` (if given). Errors: UNAUTHORIZED,
   * NOT_FOUND, NOT_ALLOWED.
   */
  visible(id: string, viewer: Viewer | null, role: ProjectRole = 'VIEWER', projectId?: string | null): BrokerRecord {
    const known = requireSignedIn(viewer);
    const broker = this.#brokers.get(id);
    if (broker === null) throw notFound('broker', id);
    if (!seesBroker(known, broker)) throw new OutOfSight('broker', id);
    if (projectId != null && broker.projectId !== projectId) throw notFound('broker', id);
    requireProjectRole(known, broker.projectId, role);
    return broker;
  }

  seen(id: string, viewer: Viewer | null): BrokerRecord | null {
    const broker = this.#brokers.get(id);
    return broker !== null && seesBroker(requireSignedIn(viewer), broker) ? broker : null;
  }

  visibleIn(projectId: string, viewer: Viewer | null): readonly BrokerRecord[] {
    const brokers = this.#brokers.ofProject(projectId);
    const only = viewer?.brokers;
    return only ? brokers.filter(({ id }) => only.has(id)) : brokers;
  }

  async addSelfHosted(projectId: string, input: BrokerInput, by = ORDINARY): Promise<BrokerRecord> {
    await this.#check(input, by, input.url == null ? [{ path: 'input.url', reason: 'is required' }] : []);
    return this.#create(projectId, 'SELF_HOSTED', input, by);
  }

  /** The connection that `addSelfHosted` would store. Errors: INVALID. */
  async unsaved(input: BrokerInput, by: BrokerWriter) {
    await this.#check(input, by, input.url == null ? [{ path: 'input.url', reason: 'is required' }] : []);
    const id = newId('broker');
    return { ...NO_CONNECTION, ...this.#columns(id, input, by), id };
  }

  async addOnPremiseSetup(projectId: string, input: BrokerInput, setup: SetupInput, by = ORDINARY) {
    const issues = (['issuedTo', 'productId'] as const).flatMap((name) =>
      textIssues(`input.${name}`, setup[name].trim(), { min: 1, max: MAX_NAME }),
    );
    await this.#check(input, by, issues);
    return this.#create(projectId, 'ON_PREMISE_SETUP', input, by, { ...setup, periodEnd: setup.periodEnd ?? null });
  }

  /** Call `announce` after the transaction. The entry shows the address of one node, but has no secrets. */
  createClusterEntry(
    tx: Prisma.TransactionClient,
    projectId: string,
    { name, mode, like }: { readonly name: string; readonly mode: ClusterMode; readonly like: BrokerRecord },
  ): Promise<BrokerRow> {
    const { url, trustedUrl, username, verifyCaCert } = like;
    const { caCert, caCertFile, clientCert, clientCertFile, clientKeyFile } = like;
    const address = { url, trustedUrl, username };
    const tls = { caCert, caCertFile, clientCert, clientCertFile, clientKeyFile, verifyCaCert };
    const entry = { id: newId('broker'), projectId, type: 'SELF_HOSTED', name, ha: true, clusterMode: mode } as const;
    return tx.broker.create({ data: { ...address, ...tls, ...entry }, include: BROKER_PARTS });
  }

  renameClusterEntry(tx: Prisma.TransactionClient, id: string, name: string): Promise<BrokerRow> {
    return tx.broker.update({ where: { id }, data: { name }, include: BROKER_PARTS });
  }

  /**
   * `null` clears a field. Errors: INVALID, NOT_FOUND; NOT_ALLOWED if stored passwords of a cluster would be sent to
   * another address without `by.mayControl`.
   */
  async update(id: string, input: BrokerInput, by = ORDINARY): Promise<BrokerRecord> {
    const broker = this.#brokers.get(id);
    if (broker === null) throw notFound('broker', id);
    if (broker.type === 'CLOUD') refuseConnection(input, 'this service runs the broker itself');
    const cluster = this.#options.clusterOf(id);
    if (cluster?.isEntry) refuseConnection(input, 'change the nodes of the cluster instead', CLUSTER_KEYS);
    if (cluster?.isSentPasswords && !by.mayControl && changesReceiver(broker, input))
      throw passwordsNeedAdmin(cluster.name);
    await checkConnection(input, this.#rulesFor(input, by, broker));
    const issues = nameIssues(input);
    if (input.url === null && broker.type === 'SELF_HOSTED')
      issues.push({ path: 'input.url', reason: 'cannot be cleared' });
    if (input.boundSessions && broker.engine !== 'embedded') {
      const reason = 'requires an embedded broker: other brokers do not bind sessions to accounts';
      issues.push({ path: 'input.bindsSessionsToAccounts', reason });
    }
    return this.announce(await this.#write(id, input, by, issues));
  }

  /**
   * Writes the changes if the stored connection is still the checked one: another update may have stored a secret
   * since. Errors: INVALID with `found` and the secrets that must be given again, NOT_FOUND, IN_USE.
   */
  async #write(id: string, input: BrokerInput, by: BrokerWriter, found: readonly InputIssue[]): Promise<BrokerRow> {
    const { db } = this.#options;
    for (let attempt = 0; attempt < MAX_UPDATE_ATTEMPTS; attempt += 1) {
      const stored = await db.broker.findUnique({ where: { id } });
      if (stored === null) throw notFound('broker', id);
      const issues = [...found, ...secretsForAnotherReceiver(stored, input)];
      if (issues.length > 0) throw invalid(issues);
      const where = { id, ...connectionColumns(stored) };
      const data = this.#columns(id, input, by, stored);
      // Not `update`, which takes a transaction of five statements. Without a change, Prisma 7 counts no row on SQLite.
      const isChange = Object.values(data).some((value) => value !== undefined);
      if (isChange && (await db.broker.updateMany({ where, data })).count === 0) continue;
      const row = await db.broker.findUnique({ where: { id }, include: BROKER_PARTS });
      if (row === null) throw notFound('broker', id);
      return row;
    }
    throw new ServiceError('IN_USE', `The broker ${id} is being changed by other requests: retry the request`);
  }

  async remove(id: string): Promise<void> {
    const cluster = this.#options.clusterOf(id);
    if (cluster !== null) throw usedBy(cluster);
    // Another process may have added the broker to a cluster just now.
    const { count } = await this.#options.db.broker.deleteMany({ where: { id, cluster: null, clusterNode: null } });
    if (count === 0) await this.#refuseUsed(id);
    await this.#removed(id, count);
  }

  async removeClusterEntry(id: string): Promise<void> {
    const { count } = await this.#options.db.broker.deleteMany({ where: { id } });
    await this.#removed(id, count);
  }

  /** Drops the cached brokers of a removed project, whose rows are deleted with it. */
  async projectRemoved(projectId: string): Promise<void> {
    for (const { id } of this.#brokers.ofProject(projectId)) {
      this.#brokers.drop(id);
      await this.#options.changes.announce('broker', id);
    }
  }

  /** Caches a row that was just written, and announces the change to other processes. */
  async announce(row: BrokerRow): Promise<BrokerRecord> {
    const record = this.#brokers.put(row);
    await this.#options.changes.announce('broker', row.id);
    return record;
  }

  #rulesFor({ url }: BrokerInput, by: BrokerWriter, stored?: TrustedUrl): ConnectionRules {
    const { rules } = this.#options;
    return url && this.#mayBeInside(url, by, stored) ? { ...rules, inside: 'ALL' } : rules;
  }

  /** Whether an internal address is allowed. */
  #mayBeInside(url: string, { isRootAdmin }: BrokerWriter, stored: TrustedUrl | undefined): boolean {
    if (isRootAdmin || (stored?.trustedUrl === true && url === stored.url)) return true;
    return this.#options.rules.isOwnBroker?.(url) ?? false;
  }

  async #refuseUsed(id: string): Promise<void> {
    const include = { cluster: true, clusterNode: { include: { cluster: true } } } as const;
    const row = await this.#options.db.broker.findUnique({ where: { id }, include });
    const cluster = row?.cluster ?? row?.clusterNode?.cluster ?? null;
    if (cluster !== null) throw usedBy({ name: cluster.name, isEntry: cluster.id === id });
  }

  async #removed(id: string, count: number): Promise<void> {
    this.#brokers.drop(id);
    if (count === 0) throw notFound('broker', id);
    await this.#options.changes.announce('broker', id);
  }

  async #check(input: BrokerInput, by: BrokerWriter, found: readonly InputIssue[]): Promise<void> {
    await checkConnection(input, this.#rulesFor(input, by));
    const issues = [...nameIssues(input), ...found];
    if (issues.length > 0) throw invalid(issues);
  }

  async #create(
    projectId: string,
    type: 'SELF_HOSTED' | 'ON_PREMISE_SETUP',
    input: BrokerInput,
    by: BrokerWriter,
    setup: Partial<Broker> = {},
  ): Promise<BrokerRecord> {
    const { maxPerProject } = this.#options;
    const id = newId('broker');
    const name = input.name?.trim() || (input.url ? new URL(input.url).host.slice(0, MAX_NAME) : 'On-premise setup');
    const data = { ...this.#columns(id, input, by), ...setup, id, projectId, type, name };
    const row = await this.#lock.run('Project', projectId, async (tx) => {
      if ((await tx.broker.count({ where: { projectId } })) >= maxPerProject) throw tooMany(maxPerProject);
      return tx.broker.create({ data, include: BROKER_PARTS });
    });
    return this.announce(row);
  }

  /** A secret that equals the stored one is not sealed again, which would cause a reconnect. */
  #columns(id: string, input: BrokerInput, by: BrokerWriter, stored?: Broker): Partial<Broker> {
    const { name, verifyCaCert, metricsEnabled, ha, clientTakeover, boundSessions, password, clientKey } = input;
    const { sealer } = this.#options;
    const seal = (secret: string | null, sealed: string | null | undefined, what: 'password' | 'clientKey') => {
      if (secret === null) return null;
      const context = `${id}/${what}`;
      return sealed != null && opensTo(sealer, sealed, context, secret) ? sealed : sealer.seal(secret, context);
    };
    return {
      ...given(input, 'description', 'url', 'username', 'clusterMode'),
      ...given(input, 'caCert', 'caCertFile', 'clientCert', 'clientCertFile', 'clientKeyFile'),
      ...withoutNulls({ name: name?.trim(), verifyCaCert, metricsEnabled, ha, clientTakeover, boundSessions }),
      ...(input.url === undefined ? {} : { trustedUrl: this.#mayBeInside(input.url ?? '', by, stored) }),
      ...secretsWithoutAddress(input),
      ...(password === undefined ? {} : { sealedPassword: seal(password, stored?.sealedPassword, 'password') }),
      ...(clientKey === undefined ? {} : { sealedClientKey: seal(clientKey, stored?.sealedClientKey, 'clientKey') }),
    };
  }
}

/** The defaults of the columns of a connection. */
const NO_CONNECTION = {
  name: '',
  type: 'SELF_HOSTED',
  host: null,
  url: null,
  trustedUrl: false,
  username: null,
  verifyCaCert: true,
  sealedPassword: null,
  sealedClientKey: null,
  caCert: null,
  caCertFile: null,
  clientCert: null,
  clientCertFile: null,
  clientKeyFile: null,
} as const;

type TrustedUrl = Pick<Broker, 'url' | 'trustedUrl'>;

/** Attempts of one update; each failure means that another update was written meanwhile. */
const MAX_UPDATE_ATTEMPTS = 10;

function tooMany(limit: number): ServiceError {
  const reason = `the project has ${limit} brokers, the maximum (MAX_BROKERS_PER_PROJECT)`;
  return new ServiceError('INVALID', `input: ${reason}`, { info: { limit, issues: [{ path: 'input', reason }] } });
}

/** `false` also for a secret that cannot be opened because its key was lost: it is replaced. */
function opensTo(sealer: Sealer, sealed: string, context: string, secret: string): boolean {
  try {
    const known = Buffer.from(sealer.open(sealed, context));
    const given = Buffer.from(secret);
    return known.length === given.length && timingSafeEqual(known, given);
  } catch {
    return false;
  }
}

function given<Key extends keyof BrokerInput & keyof Broker>(input: BrokerInput, ...keys: Key[]) {
  const entries = keys.filter((key) => input[key] !== undefined).map((key) => [key, input[key]]);
  return Object.fromEntries(entries) as Pick<Partial<Broker>, Key>;
}

const CLUSTER_KEYS = [...CONNECTION_KEYS, 'verifyCaCert', 'ha', 'clusterMode'] as const satisfies (keyof BrokerInput)[];

function refuseConnection(
  input: BrokerInput,
  why: string,
  keys: readonly (keyof BrokerInput)[] = CONNECTION_KEYS,
): void {
  const issues = keys
    .filter((key) => input[key] !== undefined)
    .map((key) => ({ path: `input.${key}`, reason: `cannot be changed: ${why}` }));
  if (issues.length > 0) throw invalid(issues);
}

/** Does not name the cluster of a node: a caller that may see the node may not see the other nodes. */
function usedBy({ name, isEntry }: Pick<BrokerCluster, 'name' | 'isEntry'>): ServiceError {
  const ofNode = 'The broker is a node of a cluster: remove the node from the cluster first, or delete the cluster';
  const ofEntry = `The broker is the entry of the cluster "${name}": delete the cluster`;
  return new ServiceError('IN_USE', isEntry ? ofEntry : ofNode);
}

function nameIssues({ name, description }: BrokerInput): InputIssue[] {
  return [
    ...(name === undefined ? [] : textIssues('input.name', name?.trim() ?? '', { min: 1, max: MAX_NAME })),
    ...textIssues('input.description', description, { max: MAX_DESCRIPTION }),
  ];
}

export const withoutAddress = (name: string) =>
  new ServiceError('BROKER_UNREACHABLE', `The broker "${name}" has no address: set its url`);
