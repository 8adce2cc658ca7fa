import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { BROKER_PARTS, type BrokerCache, type BrokerRecord } from '../../domains/brokers/broker-cache.ts';
import type { CloudBrokerTargetState } from '../../generated/sqlite/client.ts';
import { invalid, notFound, ServiceError } from '../../platform/errors.ts';
import { LeasedMutex } from '../../platform/scheduling/leased-mutex.ts';
import type { Engine as DatabaseEngine } from '../../platform/storage/database.ts';
import type { Leases } from '../../platform/storage/leases/leases.ts';
import { missingAsNotFound } from '../../platform/storage/prisma-errors.ts';
import type { ControlApi, ControlCommand } from '../../protocol/control/envelope.ts';
import { ControlRefusal } from '../../protocol/control/plugin.ts';
import {
  ENGINES,
  type Engine,
  isEngine,
  type ListenerWanted,
  type RunningBroker,
} from '../../protocol/hosting/broker-engine.ts';
import type { GatewayPlugins } from '../../protocol/hosting/gateway-plugins.ts';
import type { HostedCalls } from '../../protocol/hosting/hosted-calls.ts';
import type { Stop } from '../../protocol/mqtt/broker-session.ts';
import { executeOnMosquitto, MOSQUITTO_APIS, mosquittoPlugins } from '../mosquitto/mosquitto-plugins.ts';
import { chooseFolder } from './choose-folder.ts';
import { ADMINISTRATOR, CloudBrokerEntries, type CloudBrokerEntriesOptions } from './cloud-broker-entries.ts';
import { CloudBrokerRun, type OnState, type Wanted } from './cloud-broker-run.ts';
import { allocatedPorts, CloudBrokerStates } from './cloud-broker-states.ts';
import { isMosquitto } from './cloud-engines.ts';
import { type CloudBrokerInput, cloudBrokerIssues, type ListenerInput } from './cloud-input.ts';
import { areOther, type ListenersChange, listenersUpdate } from './listener-changes.ts';
import { OwnFolder } from './own-folder.ts';

interface CloudBrokersOptions extends CloudBrokerEntriesOptions {
  readonly leases: Leases;
  readonly brokerCache: BrokerCache;
  /** With SQLite this process is the only one. */
  readonly databaseEngine: DatabaseEngine;
  /** Calls between the processes on one database; `null` if there can be only one. */
  readonly calls: HostedCalls | null;
  readonly dataDir: string;
  /** Id of the data folder. */
  readonly folderId: string;
  /** Whether this process runs the brokers of its folder. */
  readonly isRunner: boolean;
  readonly log: Logger;
}

interface CloudBrokerOwner {
  readonly name: string;
  /** Whether the caller is a root administrator, who has no bound for a project and may choose privileged ports. */
  readonly isRootAdmin: boolean;
}

type CloudBrokerStatus = Pick<BrokerRecord, 'id' | 'state' | 'problem'>;

interface FirstBroker {
  readonly projectId: string;
  readonly listeners: readonly ListenerInput[];
  /** Name that is shown as `issuedTo`: the e-mail address of the root administrator. */
  readonly issuedTo: string;
}

/** Password file (mode 0600) of a broker, for commands on the machine of the service. */
export const passwordFile = (dataDir: string, brokerId: string) => join(dataDir, 'brokers', brokerId, 'password');

/** Longest wait for creations in another process. */
const CREATION_MS = 30_000;

/**
 * The brokers that this service runs: each in the process whose data folder has its data. Other processes reach it over
 * MQTT. After a crash, the next start begins with PROVISIONING again.
 */
export class CloudBrokers {
  readonly #options: CloudBrokersOptions;
  readonly #folder: OwnFolder;
  readonly #states: CloudBrokerStates;
  readonly #entries: CloudBrokerEntries;
  readonly #runs = new Map<string, CloudBrokerRun>();
  readonly #stopServing = new Map<string, Stop>();
  readonly #stopFollowing: Stop;
  readonly #removals = new Map<string, Promise<void>>();
  /** Brokers are created one after another over all processes, so that the maximum number is checked correctly. */
  readonly #creations: LeasedMutex;
  #phase: 'NEW' | 'STARTED' | 'CLOSED' = 'NEW';

  constructor(options: CloudBrokersOptions) {
    this.#options = options;
    const { leases, folderId: id, databaseEngine: engine } = options;
    this.#folder = new OwnFolder({ ...options, id, engine });
    this.#states = new CloudBrokerStates(options);
    this.#entries = new CloudBrokerEntries(options);
    this.#creations = new LeasedMutex({ leases, name: 'cloud brokers', prefix: 'creation', timeoutMs: CREATION_MS });
    this.#stopFollowing = options.brokerCache.onChange((after, before) => this.#changed(after, before));
  }

  /** The engines that this process can run at the moment. */
  get available(): Engine[] {
    return ENGINES.filter((engine) => this.#canRun(engine));
  }

  /** `null` if the broker does not run in this process. */
  listenersOf(id: string): readonly ListenerWanted[] | null {
    return this.#runs.get(id)?.running?.listeners ?? null;
  }

  /** The state of a broker and its problem, also while they cannot be written. */
  stateOf({ id, state, problem }: CloudBrokerStatus): CloudBrokerStatus {
    const run = this.#states.isUnwritten(id) ? this.#runs.get(id) : undefined;
    if (!run?.state) return { id, state, problem };
    return { id, state: run.state, problem: run.problem ?? run.running?.notice ?? null };
  }

  /** Number of brokers of this process that cannot store. */
  get diskFaults(): number {
    return [...this.#runs.values()].filter(({ running }) => running?.diskFault).length;
  }

  get faults() {
    return this.#options.engines.faults;
  }

  /** In each process: commands for a broker of another process are sent there. */
  pluginsFor(id: string): GatewayPlugins {
    const { brokerCache, calls } = this.#options;
    const broker = brokerCache.get(id);
    if (broker?.type !== 'CLOUD' || broker.engine !== 'mosquitto') return { plugins: [], clientIds: [] };
    return mosquittoPlugins(id, async (api, command) =>
      calls === null || this.#folder.has(broker) ? this.#execute(id, api, command) : calls.call(id, api, command),
    );
  }

  createFirst({ projectId, listeners, issuedTo }: FirstBroker): Promise<BrokerRecord> {
    const input = { name: 'Embedded broker', description: 'Runs inside this service.', location: 'fsn1', listeners };
    return this.#entries.add(projectId, { ...input, engine: 'embedded' }, issuedTo, this.#folder.id);
  }

  /**
   * Creates an entry. A process that has the engine then starts it: the one with the fewest brokers. Errors: INVALID,
   * NOT_FOUND (the project), and those of LeasedMutex.
   */
  create(projectId: string, input: CloudBrokerInput, owner: CloudBrokerOwner): Promise<BrokerRecord> {
    const { engines } = this.#options;
    return this.#creations.run('cloud-broker', async () => {
      const issues = cloudBrokerIssues(input, owner.isRootAdmin);
      const folderId = await this.#folderFor(input.engine);
      // Another process reports at the start of the broker what its Mosquitto lacks.
      const isChecked = input.engine === 'embedded' || folderId === this.#folder.id;
      if (isChecked) issues.push(...(await engines.settingIssues(input)));
      if (folderId === null) issues.push({ path: 'input.engine', reason: this.#whyNone(input.engine) });
      issues.push(...(await this.#entries.boundIssues(projectId, owner.isRootAdmin)));
      if (folderId === null || issues.length > 0) throw invalid(issues);
      return this.#entries.add(projectId, input, owner.name, folderId);
    });
  }

  /** Returns when the target state is stored. Errors: INVALID (the service does not run the broker), NOT_FOUND. */
  async setTargetState(id: string, targetState: CloudBrokerTargetState): Promise<BrokerRecord> {
    const { db, brokers, brokerCache } = this.#options;
    if (brokerCache.get(id)?.type !== 'CLOUD') throw notRunHere();
    const row = await db.broker
      .update({ where: { id }, data: { targetState }, include: BROKER_PARTS })
      .catch(missingAsNotFound('broker', id));
    return brokers.announce(row);
  }

  /**
   * Changes the listeners of a broker, which then starts again with them. Errors: INVALID, NOT_FOUND, and those of
   * LeasedMutex.
   */
  changeListeners(id: string, change: ListenersChange, isRootAdmin: boolean): Promise<BrokerRecord> {
    const { db, brokers, engines } = this.#options;
    return this.#creations.run('cloud-broker', async () => {
      const row = await db.broker.findUnique({ where: { id }, include: { ...BROKER_PARTS, deployments: true } });
      if (row === null) throw notFound('broker', id);
      if (row.type !== 'CLOUD' || !isEngine(row.engine)) throw notRunHere();
      const data = await listenersUpdate(row, change, { isRootAdmin, engines });
      return brokers.announce(await db.broker.update({ where: { id }, data, include: BROKER_PARTS }));
    });
  }

  /** Why a broker of this process does not run; `null` if it does, or there is no reason. */
  problemOf(id: string): string | null {
    return this.#runs.get(id)?.problem ?? null;
  }

  /** Resolves when a broker of this process is in its target state, or cannot reach it for now. */
  async settled(id: string): Promise<void> {
    await this.#runs.get(id)?.wake();
  }

  /** Resolves when the files of a broker of this process are deleted. Another process deletes its own later. */
  async gone(id: string): Promise<void> {
    await this.#removals.get(id);
  }

  /**
   * Starts every broker of this process that should be active. Resolves when each runs, or its first start has failed,
   * with the first one as it was before. Errors: IN_USE if the data folder is a copy of one whose process runs.
   */
  async start(): Promise<BrokerRecord | null> {
    await this.#folder.claim(() => {
      for (const id of this.#runs.keys()) void this.#writeState(id);
    });
    await this.#folder.adopt();
    this.#phase = 'STARTED';
    process.once('exit', this.#endAtOnce);
    await this.#folder.clean();
    const own = this.#own();
    await Promise.all(own.map((broker) => this.#follow(broker)));
    return own[0] ?? null;
  }

  /** Stores INACTIVE for brokers that were running when the only process ended, if it must not start them. */
  async noteStopped(): Promise<void> {
    await this.#folder.adopt();
    await this.#folder.clean();
    const stale = this.#own().filter(({ state, problem }) => state !== 'INACTIVE' || problem !== null);
    await Promise.all(stale.map(({ id }) => this.#states.write(id, () => ({ state: 'INACTIVE', problem: null }))));
  }

  async close(): Promise<void> {
    this.#phase = 'CLOSED';
    this.#stopFollowing();
    for (const stop of this.#stopServing.values()) stop();
    await Promise.all([...this.#runs.values()].map((run) => run.wake()));
    await Promise.all([this.#states.close(), ...this.#removals.values()]);
    await this.#folder.release();
    process.off('exit', this.#endAtOnce);
  }

  #own(): BrokerRecord[] {
    return this.#options.brokerCache.all().filter((broker) => this.#folder.has(broker));
  }

  #canRun(engine: Engine): boolean {
    const { isRunner, engines } = this.#options;
    return isRunner && engines.missing(engine) === null;
  }

  async #folderFor(engine: Engine): Promise<string | null> {
    const { db, databaseEngine, folderId } = this.#options;
    const canRun = (one: Engine) => this.#canRun(one);
    if (databaseEngine === 'sqlite') return canRun(engine) ? folderId : null;
    return chooseFolder(db, engine, { folderId, canRun });
  }

  #whyNone(engine: Engine): string {
    const { isRunner, engines } = this.#options;
    const missing = isRunner ? engines.missing(engine) : null;
    return (
      missing ?? 'no process runs brokers with this engine: EMBEDDED_BROKER is off, or the engine is not installed'
    );
  }

  #changed(after: BrokerRecord | null, before: BrokerRecord | null): void {
    const broker = after ?? before;
    if (broker === null || broker.type !== 'CLOUD') return;
    if (after === null) {
      if (this.#folder.has(broker)) this.#removed(broker);
    } else if (this.#folder.has(after)) {
      const isForeign = !this.#states.isOwnWrite;
      if (isForeign && before !== null && areOther(after.listeners, before.listeners))
        void this.#runs.get(after.id)?.renew();
      // A change of a broker in ERROR retries the start immediately.
      if (after.targetState !== before?.targetState || (isForeign && after.state === 'ERROR')) void this.#follow(after);
      // Another process has not seen this one for a while.
      if (isForeign && after.awaySince !== null && this.#phase === 'STARTED') void this.#writeState(after.id);
    }
  }

  readonly #endAtOnce = (): void => {
    for (const { running } of this.#runs.values()) if (isMosquitto(running)) running.endAtOnce();
  };

  #execute(id: string, api: ControlApi, command: ControlCommand): unknown {
    const running = this.#runs.get(id)?.running ?? null;
    if (isMosquitto(running)) return executeOnMosquitto(running, api, command);
    throw new ControlRefusal('The broker does not run', { code: 'BROKER_UNREACHABLE' });
  }

  #follow({ id, engine }: BrokerRecord): Promise<void> {
    if (this.#phase !== 'STARTED' || !isEngine(engine)) return Promise.resolve();
    const run = this.#runs.get(id) ?? this.#newRun(id);
    this.#runs.set(id, run);
    return run.wake();
  }

  #newRun(id: string): CloudBrokerRun {
    const { brokerCache, calls, log } = this.#options;
    if (calls !== null && brokerCache.get(id)?.engine === 'mosquitto') {
      const stops = MOSQUITTO_APIS.map((api) => calls.serve(id, api, (command) => this.#execute(id, api, command)));
      this.#stopServing.set(id, () => {
        for (const stop of stops) stop();
      });
    }
    return new CloudBrokerRun({
      wanted: () => this.#wanted(id),
      isStopNoted: () => this.#isStopNoted(id),
      start: (onState) => this.#startEngine(id, onState),
      note: () => this.#writeState(id),
      onFailure: (error) => log.error({ err: error, brokerId: id }, 'a broker of this service cannot run'),
    });
  }

  #wanted(id: string): Wanted {
    const broker = this.#options.brokerCache.get(id);
    if (broker === null) return 'REMOVED';
    if (this.#phase !== 'STARTED') return 'CLOSED';
    return broker.targetState === 'INACTIVE' ? 'INACTIVE' : 'ACTIVE';
  }

  async #startEngine(id: string, onState: OnState): Promise<RunningBroker> {
    const { brokerCache, sealer, engines, dataDir } = this.#options;
    const broker = brokerCache.get(id);
    if (broker === null) throw new ServiceError('NOT_FOUND', 'The broker was removed');
    const password = sealer.open(broker.sealedPassword ?? '', `${id}/password`);
    const folder = this.#folder.pathOf(id);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
    const file = passwordFile(dataDir, id);
    // A full disk must not leave an empty file.
    if ((await readFile(file, 'utf8').catch(() => null)) !== password) await writeFile(file, password, { mode: 0o600 });
    const administrator = { username: ADMINISTRATOR, password };
    return engines.start({ broker, folder, administrator, onState });
  }

  #isStopNoted(id: string): boolean {
    const broker = this.#options.brokerCache.get(id);
    const isAway = this.#phase === 'CLOSED';
    if (this.#states.isUnwritten(id)) return false;
    return broker?.state === 'INACTIVE' && broker.host === this.#folder.host && (broker.awaySince !== null) === isAway;
  }

  /** Writes the state of a broker of this process, which others may have noted as away. */
  #writeState(id: string): Promise<void> {
    const { state, problem, running, startedAt, stoppedAt } = this.#runs.get(id) ?? NO_RUN;
    const { host } = this.#folder;
    // Where the process is, and that it is there: the last word of a process that stops is that it is not.
    const isLast = this.#phase === 'CLOSED' && state === 'INACTIVE';
    return this.#states.write(id, () => {
      const { brokerCache, engines } = this.#options;
      const broker = brokerCache.get(id);
      return {
        ...(state === null ? {} : { state }),
        host,
        awaySince: isLast ? new Date() : null,
        problem:
          isLast && broker?.targetState !== 'INACTIVE' ? stoppedWith(host) : (problem ?? running?.notice ?? null),
        ...(stoppedAt === null ? {} : { shutdownAt: stoppedAt }),
        // Each time, because the last write may have failed.
        ...(running === null || state !== 'ACTIVE'
          ? {}
          : {
              url: engines.urlOf(running.listeners),
              ...allocatedPorts(id, broker?.listeners ?? [], running),
              deployedAt: startedAt,
              shutdownAt: null,
            }),
      };
    });
  }

  #removed({ id }: BrokerRecord): void {
    const removal = this.#clearAway(id)
      .catch((error: unknown) => {
        const { log } = this.#options;
        log.error({ err: error, brokerId: id }, 'what a removed broker left could not be cleared away');
      })
      .finally(() => this.#removals.delete(id));
    this.#removals.set(id, removal);
  }

  async #clearAway(id: string): Promise<void> {
    await this.#runs.get(id)?.wake();
    this.#runs.delete(id);
    this.#stopServing.get(id)?.();
    this.#stopServing.delete(id);
    await this.#folder.delete(id);
  }
}

const notRunHere = () => invalid([{ path: 'input.brokerId', reason: 'is not a broker that this service runs' }]);

const NO_RUN = { state: null, problem: null, running: null, startedAt: null, stoppedAt: null };

const stoppedWith = (host: string): string =>
  `The process on ${host} that runs this broker was stopped. The broker starts with it`;
