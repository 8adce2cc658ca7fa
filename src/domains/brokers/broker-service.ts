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
import type { Changes } from '../../platform/storage/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import { isNotFound, missingAsNotFound } from '../../platform/storage/prisma-errors.ts';
import type { Sealer } from '../../platform/storage/sealed.ts';
import { MAX_DESCRIPTION, MAX_NAME, textIssues } from '../../platform/text/texts.ts';
import { BROKER_PARTS, type BrokerCache, type BrokerRecord, type BrokerRow } from './broker-cache.ts';
import { type BrokerConnectionInput, type ConnectionRules, checkConnection } from './broker-connection.ts';
import {
  changesReceiver,
  connectionColumns,
  passwordsNeedAdmin,
  secretsForAnotherReceiver,
  secretsWithoutAddress,
} from './stored-secrets.ts';

interface BrokerInput extends BrokerConnectionInput {
  readonly name?: string | null | undefined;
  readonly description?: string | null | undefined;
  readonly verifyCaCert?: boolean | null | undefined;
  readonly metricsEnabled?: boolean | null | undefined;
  readonly ha?: boolean | null | undefined;
  readonly clusterMode?: ClusterMode | null | undefined;
  readonly clientTakeover?: boolean | null | undefined;
}

/** The caller of a write. */
interface BrokerWriter {
  /** Whether the caller is a root administrator, who may enter addresses of this service's own machine. */
  readonly isRootAdmin: boolean;
  /** Whether the caller may change permissions on `$CONTROL/` of the broker. Default: false. */
  readonly mayControl?: boolean;
}

const ORDINARY: BrokerWriter = { isRootAdmin: false };

/** The further fields of an on-premise installation. */
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
  /** Maximum number of added brokers per project; simultaneous requests may exceed it. Default: unlimited. */
  readonly maxPerProject?: number;
  /** The cluster of which a broker is the entry or a node; `null` if there is none. */
  readonly clusterOf: (brokerId: string) => BrokerCluster | null;
}

export interface BrokerCluster {
  readonly name: string;
  /** Whether the broker is the entry of the cluster, and not a node. */
  readonly isEntry: boolean;
  /** Whether the node receives passwords that are stored for the cluster. */
  readonly isSentPasswords: boolean;
}

/** Adds, changes and removes the brokers of projects, and checks which ones a caller may see. */
export class BrokerService {
  readonly #db: Database;
  readonly #changes: Changes;
  readonly #brokers: BrokerCache;
  readonly #sealer: Sealer;
  readonly #rules: ConnectionRules;
  readonly #maxPerProject: number;
  readonly #clusterOf: (brokerId: string) => BrokerCluster | null;

  constructor({
    db,
    changes,
    brokers,
    sealer,
    rules,
    maxPerProject = Number.POSITIVE_INFINITY,
    clusterOf,
  }: BrokerServiceOptions) {
    this.#db = db;
    this.#changes = changes;
    this.#brokers = brokers;
    this.#sealer = sealer;
    this.#rules = rules;
    this.#maxPerProject = maxPerProject;
    this.#clusterOf = clusterOf;
  }

  /**
   * Returns the broker if the viewer may see it and has the role. With `projectId` it must be in that project.
   * Errors: UNAUTHORIZED, NOT_FOUND, NOT_ALLOWED.
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

  /** `null` if the viewer may not see the broker. */
  seen(id: string, viewer: Viewer | null): BrokerRecord | null {
    const broker = this.#brokers.get(id);
    return broker !== null && seesBroker(requireSignedIn(viewer), broker) ? broker : null;
  }

  /** The brokers of a project that the viewer may see, in the order of creation. */
  visibleIn(projectId: string, viewer: Viewer | null): readonly BrokerRecord[] {
    const brokers = this.#brokers.ofProject(projectId);
    const only = viewer?.brokers;
    return only ? brokers.filter(({ id }) => only.has(id)) : brokers;
  }

  /** Adds a self-hosted broker. Errors: INVALID. */
  async addSelfHosted(projectId: string, input: BrokerInput, by = ORDINARY): Promise<BrokerRecord> {
    await this.#check(input, by, { path: 'input.url', reason: 'is required' });
    return this.#create(projectId, 'SELF_HOSTED', input, by);
  }

  /** Adds an on-premise installation, with or without an address. Errors: INVALID. */
  async addOnPremiseSetup(
    projectId: string,
    input: BrokerInput,
    setup: SetupInput,
    by = ORDINARY,
  ): Promise<BrokerRecord> {
    await this.#check(input, by, null);
    const issues = (['issuedTo', 'productId'] as const).flatMap((name) =>
      textIssues(`input.${name}`, setup[name].trim(), { min: 1, max: MAX_NAME }),
    );
    if (issues.length > 0) throw invalid(issues);
    const { issuedTo, productId, periodStart, periodEnd } = setup;
    return this.#create(projectId, 'ON_PREMISE_SETUP', input, by, {
      issuedTo,
      productId,
      periodStart,
      periodEnd: periodEnd ?? null,
    });
  }

  /**
   * Creates the entry of a cluster within the transaction that creates the cluster; call `announce` afterwards. The
   * entry shows the address of one node, but has no secrets: connections to it use the entry of a node.
   */
  createClusterEntry(
    tx: Prisma.TransactionClient,
    projectId: string,
    { name, mode, like }: { readonly name: string; readonly mode: ClusterMode; readonly like: BrokerRecord },
  ): Promise<BrokerRow> {
    const { url, trustedUrl, username } = like;
    const { caCert, caCertFile, clientCert, clientCertFile, clientKeyFile, verifyCaCert } = like;
    const tls = { caCert, caCertFile, clientCert, clientCertFile, clientKeyFile, verifyCaCert };
    const entry = { id: newId('broker'), projectId, type: 'SELF_HOSTED', name, ha: true, clusterMode: mode } as const;
    return tx.broker.create({ data: { url, trustedUrl, username, ...tls, ...entry }, include: BROKER_PARTS });
  }

  /** Renames the entry within the transaction that renames the cluster; call `announce` afterwards. */
  renameClusterEntry(tx: Prisma.TransactionClient, id: string, name: string): Promise<BrokerRow> {
    return tx.broker.update({ where: { id }, data: { name }, include: BROKER_PARTS });
  }

  /**
   * Changes the given fields; `null` clears a field. Errors: INVALID, NOT_FOUND; NOT_ALLOWED if stored passwords of a
   * cluster would be sent to another address, and `by.mayControl` is false.
   */
  async update(id: string, input: BrokerInput, by = ORDINARY): Promise<BrokerRecord> {
    const broker = this.#brokers.get(id);
    if (broker === null) throw notFound('broker', id);
    if (broker.type === 'CLOUD') refuseConnection(input, 'this service runs the broker itself');
    const cluster = this.#clusterOf(id);
    if (cluster?.isEntry) refuseConnection(input, 'change the nodes of the cluster instead', CLUSTER_KEYS);
    if (cluster?.isSentPasswords && !by.mayControl && changesReceiver(broker, input))
      throw passwordsNeedAdmin(cluster.name);
    await checkConnection(connectionOf(input), this.#rulesFor(by, isTrustedUrl(input.url, broker)));
    const issues = nameIssues(input);
    if (input.url === null && broker.type === 'SELF_HOSTED')
      issues.push({ path: 'input.url', reason: 'cannot be cleared' });
    return this.announce(await this.#write(id, input, by, issues));
  }

  /**
   * Writes the changes if the stored connection is still the one against which the secrets were checked: another update
   * may have stored a secret since. Errors: INVALID with `found` and the secrets that must be given again, NOT_FOUND,
   * IN_USE.
   */
  async #write(id: string, input: BrokerInput, by: BrokerWriter, found: readonly InputIssue[]): Promise<BrokerRow> {
    for (let attempt = 0; attempt < MAX_UPDATE_ATTEMPTS; attempt += 1) {
      const stored = await this.#db.broker.findUnique({ where: { id } });
      if (stored === null) throw notFound('broker', id);
      const issues = [...found, ...secretsForAnotherReceiver(stored, input)];
      if (issues.length > 0) throw invalid(issues);
      const where = { id, ...connectionColumns(stored) };
      const data = this.#columns(id, input, by, stored);
      const row = await this.#db.broker.update({ where, data, include: BROKER_PARTS }).catch(missingIsNull);
      if (row !== null) return row;
    }
    throw new ServiceError('IN_USE', `The broker ${id} is being changed by other requests: retry the request`);
  }

  /** Errors: NOT_FOUND, IN_USE (by a cluster). */
  async remove(id: string): Promise<void> {
    const cluster = this.#clusterOf(id);
    if (cluster !== null) throw usedBy(cluster);
    // Another process may have added the broker to a cluster just now.
    const { count } = await this.#db.broker.deleteMany({ where: { id, cluster: null, clusterNode: null } });
    if (count === 0) await this.#refuseUsed(id);
    await this.#removed(id, count);
  }

  /** Removes the entry of a cluster that is deleted. Errors: NOT_FOUND. */
  async removeClusterEntry(id: string): Promise<void> {
    const { count } = await this.#db.broker.deleteMany({ where: { id } });
    await this.#removed(id, count);
  }

  /** Drops the cached brokers of a removed project, whose rows are deleted with it. */
  async projectRemoved(projectId: string): Promise<void> {
    for (const { id } of this.#brokers.ofProject(projectId)) {
      this.#brokers.drop(id);
      await this.#changes.announce('broker', id);
    }
  }

  /** Caches a row that was just written, and announces the change to other processes. */
  async announce(row: BrokerRow): Promise<BrokerRecord> {
    const record = this.#brokers.put(row);
    await this.#changes.announce('broker', row.id);
    return record;
  }

  #rulesFor({ isRootAdmin }: BrokerWriter, isTrusted = false): ConnectionRules {
    return isRootAdmin || isTrusted ? { ...this.#rules, inside: 'ALL' } : this.#rules;
  }

  async #refuseUsed(id: string): Promise<void> {
    const include = { cluster: true, clusterNode: { include: { cluster: true } } } as const;
    const row = await this.#db.broker.findUnique({ where: { id }, include });
    const cluster = row?.cluster ?? row?.clusterNode?.cluster ?? null;
    if (cluster !== null) throw usedBy({ name: cluster.name, isEntry: cluster.id === id });
  }

  /** Errors: NOT_FOUND if no row was deleted. */
  async #removed(id: string, count: number): Promise<void> {
    this.#brokers.drop(id);
    if (count === 0) throw notFound('broker', id);
    await this.#changes.announce('broker', id);
  }

  async #check(input: BrokerInput, by: BrokerWriter, missingUrl: InputIssue | null): Promise<void> {
    await checkConnection(connectionOf(input), this.#rulesFor(by));
    const issues = nameIssues(input);
    if (input.url == null && missingUrl !== null) issues.push(missingUrl);
    if (issues.length > 0) throw invalid(issues);
  }

  async #create(
    projectId: string,
    type: 'SELF_HOSTED' | 'ON_PREMISE_SETUP',
    input: BrokerInput,
    by: BrokerWriter,
    setup: Partial<Broker> = {},
  ): Promise<BrokerRecord> {
    if (this.#brokers.ofProject(projectId).length >= this.#maxPerProject) throw tooMany(this.#maxPerProject);
    const id = newId('broker');
    const name = input.name?.trim() || (input.url ? new URL(input.url).host.slice(0, MAX_NAME) : 'On-premise setup');
    const row = await this.#db.broker
      .create({ data: { ...this.#columns(id, input, by), ...setup, id, projectId, type, name }, include: BROKER_PARTS })
      .catch(missingAsNotFound('project', projectId));
    return this.announce(row);
  }

  /**
   * The columns that an input changes. Secrets are sealed for this broker only. A secret that equals the stored one is
   * not sealed again: a different column would cause a reconnect.
   */
  #columns(id: string, input: BrokerInput, by: BrokerWriter, stored?: Broker): Partial<Broker> {
    const { name, verifyCaCert, metricsEnabled, ha, clientTakeover, password, clientKey } = input;
    const seal = (secret: string | null, sealed: string | null | undefined, what: 'password' | 'clientKey') => {
      if (secret === null) return null;
      const context = `${id}/${what}`;
      return sealed != null && opensTo(this.#sealer, sealed, context, secret)
        ? sealed
        : this.#sealer.seal(secret, context);
    };
    return {
      ...given(input, 'description', 'url', 'username', 'clusterMode'),
      ...given(input, 'caCert', 'caCertFile', 'clientCert', 'clientCertFile', 'clientKeyFile'),
      ...(name == null ? {} : { name: name.trim() }),
      ...(verifyCaCert == null ? {} : { verifyCaCert }),
      ...(metricsEnabled == null ? {} : { metricsEnabled }),
      ...(ha == null ? {} : { ha }),
      ...(clientTakeover == null ? {} : { clientTakeover }),
      ...(input.url === undefined ? {} : { trustedUrl: by.isRootAdmin || isTrustedUrl(input.url, stored) }),
      ...secretsWithoutAddress(input),
      ...(password === undefined ? {} : { sealedPassword: seal(password, stored?.sealedPassword, 'password') }),
      ...(clientKey === undefined ? {} : { sealedClientKey: seal(clientKey, stored?.sealedClientKey, 'clientKey') }),
    };
  }
}

/** Whether the address equals the stored one, which is trusted. */
const isTrustedUrl = (
  url: string | null | undefined,
  stored: Pick<Broker, 'url' | 'trustedUrl'> | undefined,
): boolean => stored?.trustedUrl === true && url === stored.url;

/** Attempts of one update; each failure means that another update was written meanwhile. */
const MAX_UPDATE_ATTEMPTS = 10;

function missingIsNull(error: unknown): null {
  if (isNotFound(error)) return null;
  throw error;
}

function tooMany(limit: number): ServiceError {
  const reason = `the project has ${limit} brokers, the maximum (MAX_BROKERS_PER_PROJECT)`;
  return new ServiceError('INVALID', `input: ${reason}`, { info: { limit, issues: [{ path: 'input', reason }] } });
}

/** `false` also for a secret that cannot be opened because its key was lost: it is replaced. */
function opensTo(sealer: Sealer, sealed: string, context: string, secret: string): boolean {
  let known: Buffer;
  try {
    known = Buffer.from(sealer.open(sealed, context));
  } catch {
    return false;
  }
  const given = Buffer.from(secret);
  return known.length === given.length && timingSafeEqual(known, given);
}

/** The fields of `input` with these keys that are not `undefined`. */
function given<Key extends keyof BrokerInput & keyof Broker>(input: BrokerInput, ...keys: Key[]) {
  const entries = keys.filter((key) => input[key] !== undefined).map((key) => [key, input[key]]);
  return Object.fromEntries(entries) as Pick<Partial<Broker>, Key>;
}

const CONNECTION_KEYS = [
  'url',
  'username',
  'password',
  'caCert',
  'caCertFile',
  'clientCert',
  'clientCertFile',
  'clientKey',
  'clientKeyFile',
] as const satisfies (keyof BrokerConnectionInput)[];

function connectionOf(input: BrokerInput): BrokerConnectionInput {
  return Object.fromEntries(CONNECTION_KEYS.map((key) => [key, input[key]]));
}

/** The fields of a cluster's entry that depend on its nodes. */
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
  return new ServiceError(
    'IN_USE',
    isEntry
      ? `The broker is the entry of the cluster "${name}": delete the cluster`
      : 'The broker is a node of a cluster: remove the node from the cluster first, or delete the cluster',
  );
}

function nameIssues({ name, description }: BrokerInput): InputIssue[] {
  return [
    ...(name === undefined ? [] : textIssues('input.name', name?.trim() ?? '', { min: 1, max: MAX_NAME })),
    ...textIssues('input.description', description, { max: MAX_DESCRIPTION }),
  ];
}

export const withoutAddress = (name: string) =>
  new ServiceError('BROKER_UNREACHABLE', `The broker "${name}" has no address: set its url`);
