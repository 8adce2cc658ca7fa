import type { Sealer } from '../../../platform/storage/encryption/sealed.ts';
import type { Lease } from '../../../platform/storage/leases/leases.ts';
import type { Placement } from '../../../protocol/hosting/placement/placement.ts';
import type { BrokerCache } from '../../brokers/broker-cache.ts';
import type { BrokerRuntime } from '../../brokers/broker-runtime.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ClientService } from '../../clients/client-service.ts';
import type { RefusalService } from '../../refusals/refusal-service.ts';
import { BrokerEvents } from './broker-events.ts';
import { type EventHistory, EventWriter } from './event-writer.ts';

interface EventRecorderOptions {
  readonly sealer: Pick<Sealer, 'seal'>;
  readonly history: EventHistory;
  readonly runtimes: BrokerRuntimes;
  readonly brokers: Pick<BrokerCache, 'get'>;
  readonly placement: Placement;
  readonly clients: ClientService;
  readonly refusals: RefusalService;
  readonly isOwn: (clientId: string) => boolean;
  readonly onFault: (error: unknown) => void;
}

/** If this process is killed, the gap until the next one begins at the last of these notes. */
const ALIVE_MS = 5_000;
/** Reports of events are coalesced for a shorter time. */
const WRITTEN_MS = 1_000;
const NOTE_BYTES = 200;

/** Records the events of the clients of all brokers. Of several processes, the one with the lease of a broker does. */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  /** Identifies this process in notes. */
  readonly #follower = crypto.randomUUID();
  readonly #leases = new Map<string, Lease>();
  readonly #brokers = new Map<string, BrokerEvents>();
  readonly #timer: NodeJS.Timeout;
  #isClosed = false;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    options.runtimes.onRuntime((runtime, change) => {
      if (this.#isClosed) return;
      if (change === 'OPENED') this.#opened(runtime);
      else this.#closing(runtime.id);
    });
    this.#timer = setInterval(() => this.#alive(), ALIVE_MS).unref();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const id of [...this.#leases.keys()]) this.#closing(id);
  }

  #opened(runtime: BrokerRuntime): void {
    const { placement } = this.#options;
    const { id } = runtime;
    const lease = placement.want(id, (isHeld) => {
      if (this.#leases.get(id) !== lease) return;
      if (isHeld) this.#record(runtime);
      else this.#end(id);
    });
    this.#leases.set(id, lease);
  }

  #closing(id: string): void {
    this.#end(id);
    void this.#leases.get(id)?.release();
    this.#leases.delete(id);
  }

  #record(runtime: BrokerRuntime): void {
    const { history, brokers, clients, refusals, sealer, isOwn, onFault } = this.#options;
    const broker = brokers.get(runtime.id);
    if (broker === null || this.#brokers.has(runtime.id)) return;
    const writer = new EventWriter(history, broker.id, this.#follower);
    const about = { broker, runtime, writer, clients, refusals, sealer, isOwn, onFault };
    this.#brokers.set(broker.id, new BrokerEvents(about));
  }

  #end(id: string): void {
    this.#brokers.get(id)?.close();
    this.#brokers.delete(id);
  }

  #alive(): void {
    if (this.#brokers.size === 0) return;
    const written = Array.from(this.#brokers.values(), ({ writtenUntil }) => writtenUntil);
    for (const broker of this.#brokers.values()) broker.repeatStart();
    const note = {
      at: Math.min(...written) - WRITTEN_MS,
      broker: '',
      follower: this.#follower,
      state: 'ALIVE',
      log: null,
    } as const;
    this.#options.history.insert({ note }, note.at, NOTE_BYTES);
  }
}
