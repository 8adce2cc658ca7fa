import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { startEmbeddedBroker } from '../embedded/embedded-broker.ts';
import type { CloudBrokerState, ListenerProtocol, Prisma } from '../generated/sqlite/client.ts';
import { newId } from '../ids.ts';
import type { Database } from '../storage/database.ts';
import type { Sealer } from '../storage/sealed.ts';
import { BROKER_PARTS, type BrokerDirectory, type BrokerRecord } from './broker-directory.ts';
import type { RunningBroker } from './broker-engine.ts';
import type { BrokerService } from './broker-service.ts';

export interface CloudBrokersOptions {
  readonly db: Database;
  readonly brokers: BrokerService;
  readonly directory: BrokerDirectory;
  readonly sealer: Sealer;
  readonly dataDir: string;
  /** Address that the listeners bind. */
  readonly host: string;
  /** Compiled worker of the embedded broker; default: beside its module. */
  readonly workerUrl?: URL | undefined;
  /** Bound on what stored messages of streams take on disk, of each broker. */
  readonly streamStorageBytes?: number;
  readonly log: Logger;
}

export interface FirstBroker {
  readonly projectId: string;
  readonly mqttPort: number;
  readonly mqttWsPort: number;
  /** Who it is set up for: the e-mail address of the root administrator. */
  readonly issuedTo: string;
}

/** The user that an embedded broker is made with; this service connects as it, too. */
export const ADMINISTRATOR = 'admin';

/** A password file for each broker run here, 0600, so that commands can be given without copying a secret by hand. */
export const passwordFile = (dataDir: string, brokerId: string) => join(dataDir, 'brokers', brokerId, 'password');

/**
 * The brokers that this service runs: NEW -> PROVISIONING -> ACTIVE, ERROR when one cannot run, SHUTTING_DOWN -> INACTIVE
 * when it is stopped with the service. The state in the database is what happened last; after a crash the next start begins
 * with PROVISIONING again.
 */
export class CloudBrokers {
  readonly #options: CloudBrokersOptions;
  readonly #running = new Map<string, RunningBroker>();
  /** State writes of a broker, in order. */
  readonly #writes = new Map<string, Promise<void>>();
  readonly #stop: () => void;
  #closing = false;

  constructor(options: CloudBrokersOptions) {
    this.#options = options;
    this.#stop = options.directory.onChange((after, before) => {
      if (after === null && before?.type === 'CLOUD') void this.#removed(before.id);
    });
  }

  /** Where the broker with this id listens, while it runs here. */
  runningPorts(id: string): { readonly mqtt: number; readonly ws: number | null } | null {
    const broker = this.#running.get(id);
    return broker === undefined ? null : { mqtt: portOf(broker, 'MQTT') ?? 0, ws: portOf(broker, 'WEBSOCKET') };
  }

  /** Makes the first broker's entry, with a generated administrator password. */
  async createFirst({ projectId, mqttPort, mqttWsPort, issuedTo }: FirstBroker): Promise<BrokerRecord> {
    const { db, brokers, sealer } = this.#options;
    const id = newId('broker');
    const password = randomBytes(18).toString('base64url');
    const row = await db.broker.create({
      data: {
        id,
        projectId,
        type: 'CLOUD',
        engine: 'embedded',
        name: 'Embedded broker',
        description: 'Runs inside this service.',
        url: mqttUrl(this.#options.host, mqttPort),
        username: ADMINISTRATOR,
        sealedPassword: sealer.seal(password, `${id}/password`),
        issuedTo,
        productId: 'embedded',
        periodStart: new Date(),
        options: '{}',
        subdomain: 'localhost',
        zoneName: 'local',
        location: 'fsn1',
        state: 'NEW',
        targetState: 'ACTIVE',
        listeners: {
          create: [
            { number: 1, protocol: 'MQTT', port: mqttPort },
            { number: 2, protocol: 'WEBSOCKET', port: mqttWsPort },
          ],
        },
      },
      include: BROKER_PARTS,
    });
    return brokers.announce(row);
  }

  /** Starts every broker that shall be active. One that cannot start is in state ERROR and stops nobody else. */
  async start(): Promise<void> {
    const wanted = [...this.#options.directory.all()].filter(
      ({ type, engine, targetState }) => type === 'CLOUD' && engine === 'embedded' && targetState === 'ACTIVE',
    );
    await Promise.all(wanted.map((broker) => this.#run(broker)));
  }

  /** Notes that brokers which were running when the service ended are not, where this service shall not start them. */
  async noteStopped(): Promise<void> {
    const stale = [...this.#options.directory.all()].filter(
      ({ type, state }) => type === 'CLOUD' && state !== 'INACTIVE',
    );
    await Promise.all(stale.map(({ id }) => this.#write(id, 'INACTIVE')));
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#stop();
    await Promise.all(
      [...this.#running].map(async ([id, broker]) => {
        await this.#write(id, 'SHUTTING_DOWN');
        await broker.close();
        await this.#write(id, 'INACTIVE', { shutdownAt: new Date() });
      }),
    );
    await Promise.all(this.#writes.values());
  }

  async #run(broker: BrokerRecord): Promise<void> {
    const { id, sealedPassword } = broker;
    const { sealer, dataDir, host, workerUrl, streamStorageBytes, log } = this.#options;
    try {
      await this.#write(id, 'PROVISIONING');
      const password = sealer.open(sealedPassword ?? '', `${id}/password`);
      const running = await startEmbeddedBroker({
        id,
        folder: join(dataDir, 'brokers', id),
        listeners: broker.listeners.map(({ number, protocol, port, tls, requireCertificate }) => {
          return { number, protocol, host, port, tls, requireCertificate };
        }),
        administrator: { username: ADMINISTRATOR, password },
        ...(workerUrl === undefined ? {} : { workerUrl }),
        ...(streamStorageBytes === undefined ? {} : { streamStorageBytes }),
        log,
        onState: (state, error) => {
          if (this.#closing) return;
          if (state === 'FAILED') {
            log.error({ brokerId: id, error }, 'an embedded broker failed');
            void this.#write(id, 'ERROR');
          }
          if (state === 'RUNNING' && this.#running.has(id)) void this.#write(id, 'ACTIVE');
        },
      });
      this.#running.set(id, running);
      if (this.#options.directory.get(id) === null) {
        // Removed while it was starting.
        await this.#removed(id);
        return;
      }
      await writeFile(passwordFile(dataDir, id), password, { mode: 0o600 });
      await this.#write(id, 'ACTIVE', {
        url: mqttUrl(host, portOf(running, 'MQTT') ?? 0),
        // A port that was left to the system is kept from here on, so that devices find the broker again.
        ...this.#keepPorts(broker, running),
        deployedAt: new Date(),
        shutdownAt: null,
      });
    } catch (error) {
      log.error({ err: error, brokerId: id }, 'an embedded broker could not be started');
      await this.#write(id, 'ERROR');
    }
  }

  #keepPorts({ id, listeners }: BrokerRecord, running: RunningBroker): Prisma.BrokerUpdateInput {
    const open = listeners.filter(({ port }) => port === 0);
    return {
      listeners: {
        update: open.map(({ number }) => ({
          where: { brokerId_number: { brokerId: id, number } },
          data: { port: running.listeners.find((listener) => listener.number === number)?.port ?? 0 },
        })),
      },
    };
  }

  async #removed(id: string): Promise<void> {
    const running = this.#running.get(id);
    this.#running.delete(id);
    this.#writes.delete(id);
    try {
      await running?.close();
      await rm(join(this.#options.dataDir, 'brokers', id), { recursive: true, force: true });
    } catch (error) {
      this.#options.log.error({ err: error, brokerId: id }, 'what a removed broker left could not be cleared away');
    }
  }

  async #write(id: string, state: CloudBrokerState, more: Prisma.BrokerUpdateInput = {}): Promise<void> {
    const { db, brokers, directory, log } = this.#options;
    const write = async () => {
      // Removed meanwhile: there is nothing to write to.
      if (directory.get(id) === null) return;
      try {
        await brokers.announce(
          await db.broker.update({ where: { id }, data: { state, ...more }, include: BROKER_PARTS }),
        );
      } catch (error) {
        log.error({ err: error, brokerId: id, state }, 'the state of a broker could not be written');
      }
    };
    const done = (this.#writes.get(id) ?? Promise.resolve()).then(write);
    this.#writes.set(id, done);
    await done;
  }
}

/** Of its first listener without TLS. */
const portOf = ({ listeners }: RunningBroker, wanted: ListenerProtocol): number | null =>
  listeners.find(({ protocol, tls }) => protocol === wanted && !tls)?.port ?? null;

/** How this machine reaches a listener that binds `host`. */
function mqttUrl(host: string, port: number): string {
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `mqtt://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}
