import { ServiceError } from '../../../platform/errors.ts';
import { isFields } from '../../../protocol/control/fields.ts';
import type { ThreadUser } from '../../../protocol/hosting/kept-thread.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { Bridge } from '../model/bridge.ts';
import type { BridgeConnectionStatus } from '../model/bridge-status.ts';
import type { BridgeKeptThread, BridgeNews, BridgePlace, BridgeWorkerThread } from './bridge-protocol.ts';

/** Until what cannot run is tried again. */
const REOPEN_MS = 30_000;

/**
 * A bridge as it runs in the thread of the bridges, where there is something of it while it has connections: with the last one it ends
 * there for good.
 *
 * While the thread is down, or what the bridge needs is not there, its connections are FAILED with the reason; its configuration is
 * applied again when that has passed. Errors of `apply`: BROKER_UNREACHABLE when it was closed.
 */
export class ThreadBridge implements Bridge, ThreadUser<BridgeWorkerThread, BridgeNews> {
  readonly #thread: BridgeKeptThread;
  readonly #place: BridgePlace;
  readonly #onClosed: () => void;
  readonly #listeners = new Set<() => void>();
  #config: unknown = null;
  #status: readonly BridgeConnectionStatus[] = [];
  /** What there is of it in the thread. */
  #open: { readonly number: number; readonly thread: BridgeWorkerThread } | null = null;
  /** It cannot run, and is not tried again yet. */
  #failure: { readonly down: string; readonly retry: NodeJS.Timeout } | null = null;
  #isUsed = false;
  #ending: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(thread: BridgeKeptThread, place: BridgePlace, onClosed: () => void) {
    this.#thread = thread;
    this.#place = place;
    this.#onClosed = onClosed;
  }

  async apply(config: unknown): Promise<void> {
    if (this.#isClosed) throw new ServiceError('BROKER_UNREACHABLE', 'The bridge was closed');
    this.#config = config;
    if (connectionsOf(config).length === 0 && !this.#isUsed) return;
    this.#use(true);
    this.#forgetFailure();
    const thread = this.#thread.current();
    if ('down' in thread) this.#tell(this.#failed(thread.down));
    else await this.#applyTo(thread);
  }

  status(): readonly BridgeConnectionStatus[] {
    return this.#status;
  }

  onStatus(listener: () => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close({ forGood }: { readonly forGood: boolean }): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#listeners.clear();
      this.#end(forGood);
      this.#onClosed();
    }
    await this.#ending;
  }

  told({ bridge, status }: BridgeNews): void {
    if (this.#open?.number === bridge) this.#tell(status);
  }

  threadEnded(reason: string): void {
    this.#open = null;
    this.#tell(this.#failed(reason));
  }

  threadStarted(thread: BridgeWorkerThread): void {
    if (!this.#isClosed && this.#isUsed && this.#open === null && this.#failure === null) void this.#applyTo(thread);
  }

  /** Never rejects: an end of the thread has it applied again, and what cannot run is told. */
  async #applyTo(thread: BridgeWorkerThread): Promise<void> {
    const open = this.#open ?? this.#opened(thread);
    const config = this.#config;
    try {
      const status = await thread.ask({ type: 'apply', bridge: open.number, config });
      if (this.#open !== open) return;
      this.#tell(status as readonly BridgeConnectionStatus[]);
      if (connectionsOf(this.#config).length === 0) this.#end(true);
    } catch (error) {
      if (this.#open === open) this.#cannotRun(error instanceof Error ? error.message : String(error));
    }
  }

  #opened(thread: BridgeWorkerThread): { readonly number: number; readonly thread: BridgeWorkerThread } {
    const number = this.#thread.numberFor(this);
    this.#open = { number, thread };
    thread.order({ bridge: number, place: this.#place });
    return this.#open;
  }

  /** What is left of it in the thread ends; the next try begins anew. */
  #cannotRun(reason: string): void {
    this.#leave(false);
    const retry = setTimeout(() => {
      this.#failure = null;
      const thread = this.#thread.current();
      if (!('down' in thread)) this.threadStarted(thread);
    }, REOPEN_MS).unref();
    this.#failure = { down: `The bridge cannot run: ${reason}`, retry };
    this.#tell(this.#failed(this.#failure.down));
  }

  #end(forGood: boolean): void {
    this.#forgetFailure();
    this.#leave(forGood);
    this.#ending = this.#ending.then(() => {
      // Something may have been configured meanwhile that waits for a thread.
      if (this.#isClosed || connectionsOf(this.#config).length === 0) this.#use(false);
    });
  }

  #leave(forGood: boolean): void {
    const open = this.#open;
    this.#open = null;
    if (open === null) return;
    // An end of the thread is an end of it, too.
    const closed = open.thread.ask({ type: 'close', bridge: open.number, forGood }).catch(() => undefined);
    this.#ending = Promise.all([this.#ending, closed]).then(() => undefined);
  }

  #forgetFailure(): void {
    if (this.#failure) clearTimeout(this.#failure.retry);
    this.#failure = null;
  }

  #use(isUsed: boolean): void {
    this.#isUsed = isUsed;
    this.#thread.use(this, isUsed);
  }

  #tell(status: readonly BridgeConnectionStatus[]): void {
    this.#status = status;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Of its connections, as nothing of it runs. */
  #failed(error: string): BridgeConnectionStatus[] {
    const before = new Map(this.#status.map((status) => [status.connectionName, status]));
    return connectionsOf(this.#config).map(({ name, active }) => {
      const known = before.get(name) ?? { ...NOTHING, connectionName: name };
      const state = active === false ? 'INACTIVE' : 'FAILED';
      const { error: _last, ...rest } = known;
      return {
        ...rest,
        isConnected: false,
        state,
        since: known.state === state ? known.since : Date.now(),
        ...(state === 'FAILED' ? { error } : {}),
      };
    });
  }
}

const NOTHING = {
  isConnected: false,
  state: 'CONNECTING',
  since: 0,
  queuedMessages: 0,
  queuedBytes: 0,
  received: 0,
  delivered: 0,
  dropped: 0,
  rejected: 0,
} as const;

/** As configurations of all kinds have them. */
export function connectionsOf(config: unknown): { readonly name: string; readonly active?: unknown }[] {
  const connections = isFields(config) && Array.isArray(config.connections) ? config.connections : [];
  return connections.filter(isFields).map(({ name, active }) => ({ name: String(name), active }));
}
