import { KeptThread } from '../../hosting/kept-thread.ts';
import type { WorkerLog } from '../../hosting/worker-thread.ts';
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
  readonly #byNumber = new Map<number, ThreadBridge>();

  constructor(options: BridgeThreadOptions) {
    const { workerUrl = new URL('./bridge-worker.js', import.meta.url), log, maxHeapMegabytes, lingerMs } = options;
    this.#thread = new KeptThread({
      name: 'bridges',
      workerUrl,
      log,
      maxHeapMegabytes,
      lingerMs,
      onNews: ({ bridge, status }) => this.#byNumber.get(bridge)?.changed(bridge, status),
    });
  }

  /** Nothing happens until a configuration with connections is applied. One at a time for each place, or one after the other. */
  open(place: BridgePlace): Bridge {
    const bridge: ThreadBridge = new ThreadBridge(
      {
        thread: () => this.#thread.current(),
        numberFor: (one) => this.#numberFor(one),
        onUse: (one, isUsed) => this.#thread.use(one, isUsed),
        onClosed: (one) => {
          this.#bridges.delete(one);
          this.#forgetNumbers(one);
        },
      },
      place,
    );
    this.#bridges.add(bridge);
    return bridge;
  }

  /** Safe to call twice. What was taken and not delivered is on disk when it resolves. */
  async close(): Promise<void> {
    await Promise.all([...this.#bridges].map((bridge) => bridge.close({ forGood: false })));
    await this.#thread.close();
  }

  #numberFor(bridge: ThreadBridge): number {
    this.#forgetNumbers(bridge);
    const number = this.#thread.nextNumber();
    this.#byNumber.set(number, bridge);
    return number;
  }

  #forgetNumbers(bridge: ThreadBridge): void {
    for (const [number, one] of this.#byNumber) if (one === bridge) this.#byNumber.delete(number);
  }
}
