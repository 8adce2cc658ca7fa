import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { BROKER_PARTS, type BrokerCache, type BrokerRecord } from '../../domains/brokers/broker-cache.ts';
import { addressOf, isEngine, type ListenerWanted, type RunningBroker } from '../../domains/brokers/broker-engine.ts';
import type { BrokerService } from '../../domains/brokers/broker-service.ts';
import type { CloudBrokerState, CloudBrokerTargetState, Prisma } from '../../generated/sqlite/client.ts';
import { invalid, ServiceError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { LeasedMutex } from '../../platform/scheduling/leased-mutex.ts';
import { SerialQueues } from '../../platform/scheduling/serial-queues.ts';
import type { Database } from '../../platform/storage/database.ts';
import type { Leases } from '../../platform/storage/leases.ts';
import { missingAsNotFound } from '../../platform/storage/prisma-errors.ts';
import type { Sealer } from '../../platform/storage/sealed.ts';
import type { GatewayPlugins } from '../../protocol/hosting/gateway-plugins.ts';
import type { Stop } from '../../protocol/mqtt/broker-session.ts';
import { endLeftOverIn } from '../mosquitto/mosquitto-broker.ts';
import { mosquittoPlugins } from '../mosquitto/mosquitto-plugins.ts';
import { CloudBrokerRun, type OnState, type Wanted } from './cloud-broker-run.ts';
import { type CloudEngines, isMosquitto } from './cloud-engines.ts';
import { type CloudBrokerInput, cloudBrokerIssues, type ListenerInput } from './cloud-input.ts';
import { endLeftBrokers } from './left-brokers.ts';

interface CloudBrokersOptions {
  readonly db: Database;
  readonly leases: Leases;
  readonly brokers: BrokerService;
  readonly directory: BrokerCache;
  readonly sealer: Sealer;
  readonly engines: CloudEngines;
  readonly dataDir: string;
  readonly maxBrokers: number;
  readonly maxPerProject: number;
  readonly log: Logger;
}

interface CloudBrokerOwner {
  readonly name: string;
  /** Whether the caller is a root administrator, who has no bound for a project and may choose privileged ports. */
  readonly isRootAdmin: boolean;
}

interface FirstBroker {
  readonly projectId: string;
  readonly listeners: readonly ListenerInput[];
  /** Name that is shown as `issuedTo`: the e-mail address of the root administrator. */
  readonly issuedTo: string;
}

/** The user that each broker is created with. This service also connects as this user. */
export const ADMINISTRATOR = 'admin';

const folderOf = (dataDir: string, brokerId: string) => join(dataDir, 'brokers', brokerId);

/** Password file (mode 0600) of a broker, for commands on the machine of the service. */
export const passwordFile = (dataDir: string, brokerId: string) => join(folderOf(dataDir, brokerId), 'password');

/** Longest wait for creations in another process. */
const CREATION_MS = 30_000;

/** The brokers that this service runs. After a crash, the next start begins with PROVISIONING again. */
export class CloudBrokers {
  readonly #options: CloudBrokersOptions;
  readonly #runs = new Map<string, CloudBrokerRun>();
  readonly #writes = new SerialQueues();
  readonly #stopFollowing: Stop;
  readonly #removals = new Map<string, Promise<void>>();
  /** Brokers are created one after another over all processes, so that the maximum number is checked correctly. */
  readonly #creations: LeasedMutex;
  #phase: 'NEW' | 'STARTED' | 'CLOSED' = 'NEW';

  constructor(options: CloudBrokersOptions) {
    this.#options = options;
    const { leases } = options;
    this.#creations = new LeasedMutex({ leases, name: 'cloud brokers', prefix: 'creation', timeoutMs: CREATION_MS });
    this.#stopFollowing = options.directory.onChange((after, before) => {
      if ((after ?? before)?.type !== 'CLOUD') return;
      if (after === null && before !== null) this.#removed(before);
      else if (after !== null && after.targetState !== before?.targetState) void this.#follow(after);
    });
  }

  listenersOf(id: string): readonly ListenerWanted[] | null {
    return this.#runs.get(id)?.running?.listeners ?? null;
  }

  get faults() {
    return this.#options.engines.faults;
  }

  /** Why the broker does not run although it should, or what it lacks. `null` if another process runs it. */
  problemOf(id: string): string | null {
    const run = this.#runs.get(id);
    return run?.problem ?? run?.running?.notice ?? null;
  }

  pluginsFor(id: string): GatewayPlugins {
    const running = this.#runs.get(id)?.running ?? null;
    return isMosquitto(running) ? mosquittoPlugins(id, running) : { plugins: [], clientIds: [] };
  }

  createFirst({ projectId, listeners, issuedTo }: FirstBroker): Promise<BrokerRecord> {
    const input = { name: 'Embedded broker', description: 'Runs inside this service.', location: 'fsn1', listeners };
    return this.#make(projectId, { ...input, engine: 'embedded' }, issuedTo);
  }

  /**
   * Creates an entry. The process that runs brokers then starts it. Errors: INVALID, NOT_FOUND (the project), and those
   * of LeasedMutex.
   */
  create(projectId: string, input: CloudBrokerInput, owner: CloudBrokerOwner): Promise<BrokerRecord> {
    const { db, engines, maxBrokers, maxPerProject } = this.#options;
    return this.#creations.run('cloud-broker', async () => {
      const issues = cloudBrokerIssues(input, owner.isRootAdmin);
      const missing = engines.missing(input.engine);
      if (missing !== null) issues.push({ path: 'input.engine', reason: missing });
      // The cache may lack what another process has just created.
      const all = await db.broker.count({ where: { type: 'CLOUD' } });
      const ofProject = await db.broker.count({ where: { type: 'CLOUD', projectId } });
      if (all >= maxBrokers) {
        issues.push({ path: 'input', reason: `there are ${all} already, as many as MAX_CLOUD_BROKERS allows` });
      } else if (ofProject >= maxPerProject && !owner.isRootAdmin) {
        const reason = `there are ${ofProject} in the project, as many as MAX_CLOUD_BROKERS_PER_PROJECT allows`;
        issues.push({ path: 'input', reason });
      }
      if (issues.length > 0) throw invalid(issues);
      return this.#make(projectId, input, owner.name);
    });
  }

  /** Returns when the target state is stored. Errors: INVALID (the service does not run the broker), NOT_FOUND. */
  async setTargetState(id: string, targetState: CloudBrokerTargetState): Promise<BrokerRecord> {
    const { db, brokers, directory } = this.#options;
    if (directory.get(id)?.type !== 'CLOUD') {
      throw invalid([{ path: 'input.brokerId', reason: 'is not a broker that this service runs' }]);
    }
    const row = await db.broker
      .update({ where: { id }, data: { targetState }, include: BROKER_PARTS })
      .catch(missingAsNotFound('broker', id));
    const broker = await brokers.announce(row);
    // For a broker in ERROR, this retries the start immediately.
    void this.#follow(broker);
    return broker;
  }

  async gone(id: string): Promise<void> {
    await this.#removals.get(id);
  }

  /** Starts every broker that should be active. Resolves when each runs, or its first start has failed. */
  async start(): Promise<void> {
    this.#phase = 'STARTED';
    process.once('exit', this.#endAtOnce);
    await this.#endLeftBrokers();
    await Promise.all(this.#all().map((broker) => this.#follow(broker)));
  }

  /** Stores INACTIVE for brokers that were running when the service ended, if this service must not start them. */
  async noteStopped(): Promise<void> {
    await this.#endLeftBrokers();
    const stale = this.#all().filter(({ state }) => state !== 'INACTIVE');
    await Promise.all(stale.map(({ id }) => this.#write(id, { state: 'INACTIVE' })));
  }

  async close(): Promise<void> {
    this.#phase = 'CLOSED';
    this.#stopFollowing();
    await Promise.all([...this.#runs.values()].map((run) => run.wake()));
    await Promise.all([this.#writes.idle(), ...this.#removals.values()]);
    process.off('exit', this.#endAtOnce);
  }

  #all(): BrokerRecord[] {
    return [...this.#options.directory.all()].filter(({ type }) => type === 'CLOUD');
  }

  #endLeftBrokers(): Promise<void> {
    const { dataDir, directory, log } = this.#options;
    return endLeftBrokers(join(dataDir, 'brokers'), (id) => directory.get(id) !== null, log);
  }

  readonly #endAtOnce = (): void => {
    for (const { running } of this.#runs.values()) if (isMosquitto(running)) running.endAtOnce();
  };

  async #make(
    projectId: string,
    { name, description, engine, location, listeners }: CloudBrokerInput,
    issuedTo: string,
  ): Promise<BrokerRecord> {
    const { db, brokers, sealer, engines } = this.#options;
    const id = newId('broker');
    const numbered = listeners.map((listener, index) => ({ ...listener, number: index + 1 }));
    const row = await db.broker
      .create({
        data: {
          id,
          projectId,
          type: 'CLOUD',
          engine,
          name: name.trim(),
          description: description ?? null,
          url: addressOf(engines.listenersOf(numbered)),
          username: ADMINISTRATOR,
          sealedPassword: sealer.seal(randomBytes(18).toString('base64url'), `${id}/password`),
          issuedTo,
          productId: engine,
          periodStart: new Date(),
          options: '{}',
          subdomain: 'localhost',
          zoneName: 'local',
          location,
          state: 'NEW',
          targetState: 'ACTIVE',
          listeners: { create: numbered },
        },
        include: BROKER_PARTS,
      })
      .catch(missingAsNotFound('project', projectId));
    return brokers.announce(row);
  }

  #follow({ id, engine }: BrokerRecord): Promise<void> {
    if (this.#phase !== 'STARTED' || !isEngine(engine)) return Promise.resolve();
    const run = this.#runs.get(id) ?? this.#newRun(id);
    this.#runs.set(id, run);
    return run.wake();
  }

  #newRun(id: string): CloudBrokerRun {
    const { directory, log } = this.#options;
    return new CloudBrokerRun({
      wanted: () => this.#wanted(id),
      stored: () => directory.get(id)?.state ?? null,
      start: (onState) => this.#startEngine(id, onState),
      note: (state, running) => this.#note(id, state, running),
      onFailure: (error) => log.error({ err: error, brokerId: id }, 'a broker of this service cannot run'),
    });
  }

  #wanted(id: string): Wanted {
    const broker = this.#options.directory.get(id);
    if (broker === null) return 'REMOVED';
    if (this.#phase !== 'STARTED') return 'CLOSED';
    return broker.targetState === 'INACTIVE' ? 'INACTIVE' : 'ACTIVE';
  }

  async #startEngine(id: string, onState: OnState): Promise<RunningBroker> {
    const { directory, sealer, engines, dataDir } = this.#options;
    const broker = directory.get(id);
    if (broker === null) throw new ServiceError('NOT_FOUND', 'The broker was removed');
    const password = sealer.open(broker.sealedPassword ?? '', `${id}/password`);
    const folder = folderOf(dataDir, id);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
    await writeFile(passwordFile(dataDir, id), password, { mode: 0o600 });
    const administrator = { username: ADMINISTRATOR, password };
    return engines.start({ broker, folder, administrator, onState });
  }

  /** `running`: the broker that this service has just started or stopped. `null` for other states. */
  #note(id: string, state: CloudBrokerState, running: RunningBroker | null): Promise<void> {
    if (running === null) return this.#write(id, { state });
    if (state !== 'ACTIVE') return this.#write(id, { state, shutdownAt: new Date() });
    return this.#write(id, {
      state,
      url: addressOf(running.listeners),
      ...this.#gotPorts(id, running),
      deployedAt: new Date(),
      shutdownAt: null,
    });
  }

  /** Stores the allocated ports, also of certificate deployments, so that devices find the broker again. */
  #gotPorts(id: string, running: RunningBroker): Prisma.BrokerUpdateInput {
    const kept = new Map(this.#options.directory.get(id)?.listeners.map(({ number, port }) => [number, port]));
    const known = running.listeners.flatMap((listener) => {
      const before = kept.get(listener.number);
      return before === undefined ? [] : [{ ...listener, before }];
    });
    const deployable = known.filter(({ tls }) => tls);
    return {
      listeners: {
        update: known
          .filter(({ port, before }) => port !== before)
          .map(({ number, port }) => ({ where: { brokerId_number: { brokerId: id, number } }, data: { port } })),
      },
      deployments: {
        // Negative ports are an intermediate step: a listener may have the previous port of another one.
        updateMany: [
          ...deployable.map(({ before, port, host }) => ({
            where: { port: before },
            data: { port: -port, bindAddress: host },
          })),
          ...deployable.map(({ port }) => ({ where: { port: -port }, data: { port } })),
        ],
      },
    };
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
    const folder = folderOf(this.#options.dataDir, id);
    await this.#runs.get(id)?.wake();
    this.#runs.delete(id);
    await endLeftOverIn(folder);
    await rm(folder, { recursive: true, force: true });
  }

  async #write(id: string, data: Prisma.BrokerUpdateInput): Promise<void> {
    const { db, brokers, directory, log } = this.#options;
    const write = async () => {
      // If the broker was deleted meanwhile, there is no entry to update.
      if (directory.get(id) === null) return;
      try {
        const row = await db.broker
          .update({ where: { id }, data, include: BROKER_PARTS })
          .catch(missingAsNotFound('broker', id));
        await brokers.announce(row);
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'NOT_FOUND') return;
        log.error({ err: error, brokerId: id, state: data.state }, 'the state of a broker could not be written');
      }
    };
    await this.#writes.run(id, write);
  }
}
