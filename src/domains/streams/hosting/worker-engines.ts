import { join } from 'node:path';
import { KeptThread } from '../../../protocol/hosting/kept-thread.ts';
import { localOf } from '../../../protocol/hosting/local-broker.ts';
import type { WorkerLog } from '../../../protocol/hosting/worker-thread.ts';
import type { BrokerLinkOptions } from '../../../protocol/mqtt/broker-link.ts';
import type { StreamEngine } from '../model/stream-engine.ts';
import { WorkerEngine } from './worker-engine.ts';
import type { EngineNews, EngineOptions, EngineOrder, EngineQuestion } from './worker-protocol.ts';

export interface WorkerEnginesOptions {
  /** Of all stored messages, with a folder for each broker. */
  readonly folder: string;
  /** Of a broker's stored messages on disk. */
  readonly maxBytes: number;
  /** The compiled worker; by default the one beside this file. */
  readonly workerUrl?: URL | undefined;
  readonly log: WorkerLog;
  /** Heap limit of the thread in MiB; 512. Beyond it the thread ends and starts anew. */
  readonly maxHeapMegabytes?: number;
  /** How long the thread waits for a stream when there is none any more; 60,000. */
  readonly lingerMs?: number;
}

/** The engines of all streams beside remote brokers, in one thread that is there while there are streams. */
export class WorkerEngines {
  readonly #options: WorkerEnginesOptions;
  readonly #engines = new Set<WorkerEngine>();
  readonly #thread: KeptThread<EngineOrder, EngineQuestion, EngineNews>;

  constructor(options: WorkerEnginesOptions) {
    const { workerUrl = new URL('./stream-worker.js', import.meta.url), log, maxHeapMegabytes, lingerMs } = options;
    this.#options = options;
    this.#thread = new KeptThread({
      name: 'streams',
      workerUrl,
      log,
      maxHeapMegabytes,
      lingerMs,
      numberOf: ({ engine }) => engine,
    });
  }

  /** Nothing happens until a stream is put. One at a time for each broker, or one after the other. */
  open(brokerId: string, link: BrokerLinkOptions): StreamEngine {
    const options = this.#engineOptions(brokerId, link);
    const engine: WorkerEngine = new WorkerEngine(this.#thread, options, () => this.#engines.delete(engine));
    this.#engines.add(engine);
    return engine;
  }

  /** Safe to call twice. All that was taken is on disk when it resolves; what was not waits at its broker. */
  async close(): Promise<void> {
    await Promise.all([...this.#engines].map((engine) => engine.close()));
    await this.#thread.close();
  }

  /** What can be told to another thread. */
  #engineOptions(brokerId: string, link: BrokerLinkOptions): EngineOptions {
    const { folder, maxBytes } = this.#options;
    return {
      brokerId,
      session: { ...localOf(link), clientId: `brokergraph-${brokerId}-streams` },
      folder: join(folder, brokerId),
      maxBytes,
    };
  }
}
