import { performance } from 'node:perf_hooks';
import type { ProcessRole } from '../../generated/sqlite/client.ts';
import type { Build } from '../../platform/build.ts';
import { invalid, notFound } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { ListedProcess, ProcessTable } from '../../protocol/hosting/placement/process-table.ts';

interface ProcessServiceOptions {
  /** `null`: this process is the only one. */
  readonly table: ProcessTable | null;
  readonly about: Build & { readonly host: string; readonly folderId: string; readonly role: ProcessRole };
  /** Engines with which this process can run brokers at the moment. */
  readonly engines: () => readonly string[];
}

export interface ServiceProcess
  extends Pick<ListedProcess, 'id' | 'host' | 'folderId' | keyof Build | 'role' | 'engines' | 'startedAt'> {
  readonly isAlive: boolean;
  readonly isDraining: boolean;
  /** `null`: the process has all brokers. */
  readonly brokers: number | null;
  readonly messagesPerSecond: number | null;
  /** Whether it is the process that responds. */
  readonly isSelf: boolean;
}

export class ProcessService {
  readonly #options: ProcessServiceOptions;
  readonly #sole: Omit<ServiceProcess, 'engines'>;

  constructor(options: ProcessServiceOptions) {
    this.#options = options;
    this.#sole = {
      ...options.about,
      id: newId('process'),
      startedAt: new Date(performance.timeOrigin),
      isAlive: true,
      isDraining: false,
      brokers: null,
      messagesPerSecond: null,
      isSelf: true,
    };
  }

  /** Errors: those of the database. */
  async list(): Promise<readonly ServiceProcess[]> {
    const { table } = this.#options;
    if (table === null) return [{ ...this.#sole, engines: this.#options.engines() }];
    return (await table.list()).map((row) => ({ ...row, isSelf: row.id === table.id }));
  }

  /** Errors: NOT_FOUND; INVALID if there can be only one process. */
  async setDraining(id: string, isDraining: boolean): Promise<ServiceProcess> {
    const { table } = this.#options;
    if (table === null) {
      const reason = 'is the only process: brokers move between processes on one PostgreSQL (DATABASE_URL)';
      throw id === this.#sole.id ? invalid([{ path: 'input.processId', reason }]) : notFound('process', id);
    }
    await table.setDraining(id, isDraining);
    const process = (await this.list()).find((one) => one.id === id);
    if (process === undefined) throw notFound('process', id);
    return process;
  }
}
