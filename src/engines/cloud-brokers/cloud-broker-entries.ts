import { BROKER_PARTS, type BrokerRecord } from '../../domains/brokers/broker-cache.ts';
import type { BrokerService } from '../../domains/brokers/broker-service.ts';
import { generatePassword } from '../../platform/auth/passwords.ts';
import type { InputIssue } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Database } from '../../platform/storage/database.ts';
import type { Sealer } from '../../platform/storage/encryption/sealed.ts';
import { missingAsNotFound } from '../../platform/storage/prisma-errors.ts';
import type { CloudEngines } from './cloud-engines.ts';
import type { CloudBrokerInput } from './cloud-input.ts';

export interface CloudBrokerEntriesOptions {
  readonly db: Database;
  readonly brokers: BrokerService;
  readonly sealer: Sealer;
  readonly engines: CloudEngines;
  readonly maxBrokers: number;
  readonly maxPerProject: number;
}

/** The user that each broker is created with. This service also connects as this user. */
export const ADMINISTRATOR = 'admin';

/** The rows of new brokers that this service runs. */
export class CloudBrokerEntries {
  readonly #options: CloudBrokerEntriesOptions;

  constructor(options: CloudBrokerEntriesOptions) {
    this.#options = options;
  }

  /** Why no further broker may be created. Not to be called twice at the same time, over all processes. */
  async boundIssues(projectId: string, isRootAdmin: boolean): Promise<InputIssue[]> {
    const { db, maxBrokers, maxPerProject } = this.#options;
    // The cache may lack what another process has just created.
    const all = await db.broker.count({ where: { type: 'CLOUD' } });
    if (all >= maxBrokers)
      return [{ path: 'input', reason: `there are ${all} already, as many as MAX_CLOUD_BROKERS allows` }];
    const ofProject = await db.broker.count({ where: { type: 'CLOUD', projectId } });
    if (isRootAdmin || ofProject < maxPerProject) return [];
    const reason = `there are ${ofProject} in the project, as many as MAX_CLOUD_BROKERS_PER_PROJECT allows`;
    return [{ path: 'input', reason }];
  }

  /** Errors: NOT_FOUND (the project). */
  async add(
    projectId: string,
    { name, description, engine, location, listeners, maxClients, maxConnections }: CloudBrokerInput,
    issuedTo: string,
    folderId: string,
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
          folderId,
          url: engines.urlOf(engines.listenersOf(numbered)),
          username: ADMINISTRATOR,
          sealedPassword: sealer.seal(generatePassword(), `${id}/password`),
          issuedTo,
          productId: engine,
          periodStart: new Date(),
          options: '{}',
          subdomain: 'localhost',
          zoneName: 'local',
          location,
          maxClients: maxClients ?? null,
          maxConnections: maxConnections ?? null,
          state: 'NEW',
          targetState: 'ACTIVE',
          listeners: { create: numbered },
        },
        include: BROKER_PARTS,
      })
      .catch(missingAsNotFound('project', projectId));
    return brokers.announce(row);
  }
}
