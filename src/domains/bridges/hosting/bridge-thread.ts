import { KeptThread } from '../../../protocol/hosting/kept-thread.ts';
import type { WorkerLog } from '../../../protocol/hosting/worker-thread.ts';
import type { Bridge } from '../model/bridge.ts';
import type { BridgeNews, BridgeOrder, BridgePlace, BridgeQuestion } from './bridge-protocol.ts';
import { ThreadBridge } from './thread-bridge.ts';

export interface BridgeThreadOptions {
  /** The compiled worker; by default the one beside this file. */
  readonly workerUrl?: URL | undefined;
  readonly log: WorkerLog;
  /** Heap limit of the thread in MiB; 512. Beyond it the thread ends and starts anew. */
  readonly maxHeapMegabytes?: number;
  /** How long the thread waits for a bridge when there is none any more; 60,000. */
  readonly lingerMs?: number;
}

/** The bridges beside all brokers, in one thread that is there while there are any. */
export class BridgeThread {
  readonly #thread: KeptThread<BridgeOrder, BridgeQuestion, BridgeNews>;
  readonly #bridges = new Set<ThreadBridge>();

  constructor(options: BridgeThreadOptions) {
    const { workerUrl = new URL('./bridge-worker.js', import.meta.url), log, maxHeapMegabytes, lingerMs } = options;
    this.#thread = new KeptThread({
      name: 'bridges',
      workerUrl,
      log,
      maxHeapMegabytes,
      lingerMs,
      numberOf: ({ bridge }) => bridge,
    });
  }

  /** Nothing happens until a configuration with connections is applied. One at a time for each place, or one after the other. */
  open(place: BridgePlace): Bridge {
    const bridge: ThreadBridge = new ThreadBridge(this.#thread, place, () => this.#bridges.delete(bridge));
    this.#bridges.add(bridge);
    return bridge;
  }

  /** Safe to call twice. What was taken and not delivered is on disk when it resolves. */
  async close(): Promise<void> {
    await Promise.all([...this.#bridges].map((bridge) => bridge.close({ forGood: false })));
    await this.#thread.close();
  }
}
