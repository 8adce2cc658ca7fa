import type { Lease, Leases } from '../../platform/storage/leases.ts';
import type { ControlApi, ControlCommand, ControlEvent } from '../control/envelope.ts';
import { type ControlPlugin, ControlRefusal } from '../control/plugin.ts';
import type { HostedCalls } from './hosted-calls.ts';
import type { EventHints } from './hosted-hints.ts';

/** What runs in this process while it holds the lease. */
export interface Hosted {
  /** Over what runs. */
  readonly plugin: ControlPlugin;
  /** Ends what runs. */
  end(): Promise<void>;
}

export interface HostedPluginOptions {
  readonly api: ControlApi;
  readonly brokerId: string;
  /** When nothing runs here yet. */
  readonly begin: (emit: (event: ControlEvent) => void) => Hosted | Promise<Hosted>;
  /** Null: other processes are told no events. */
  readonly hints: EventHints | null;
  readonly leases: Leases;
  /** To and from other processes on the same database; null: there can be none. */
  readonly calls: HostedCalls | null;
  readonly emit: (event: ControlEvent) => void;
  /** Somebody wants events. Default: always. */
  readonly isHeard?: (() => boolean) | undefined;
  readonly onFault: (error: unknown) => void;
}

interface Running extends Hosted {
  readonly stopServing: () => void;
}

/**
 * One control API beside a remote broker that only one process may serve, because something runs for it: one of those on the database
 * runs it, and the others pass commands on to it. Who runs it is settled by a lease; whoever gets it begins at once, and whoever loses
 * it stops at once.
 *
 * Errors beside the plugin's own: BROKER_UNREACHABLE where it is just ending here, BROKER_TIMEOUT where the process that runs it does
 * not answer.
 */
export class HostedPlugin implements ControlPlugin {
  readonly api: ControlApi;
  readonly #options: HostedPluginOptions;
  readonly #lease: Lease;
  readonly #stopEvents: () => void;
  #running: Running | null = null;
  /** Beginnings and ends, one after the other; never rejects. */
  #tail: Promise<void> = Promise.resolve();
  #closing: Promise<void> | null = null;
  #noteEnd: () => void = () => undefined;
  /** Nothing of it runs any more. */
  readonly ended = new Promise<void>((resolve) => {
    this.#noteEnd = resolve;
  });

  constructor(options: HostedPluginOptions) {
    const { api, brokerId, hints, leases, calls, emit, isHeard = () => true } = options;
    this.api = api;
    this.#options = options;
    this.#lease = leases.want(`${api}:${brokerId}`, (held) =>
      this.#inOrder(() => (held ? this.#begin() : this.#end())),
    );
    const isListening = () => !this.#lease.held && isHeard();
    const follower = hints && { api, hints, isListening, tell: emit };
    this.#stopEvents = (follower && calls?.hints.follow(brokerId, follower)) ?? (() => undefined);
  }

  /** In this process. */
  get isRunning(): boolean {
    return this.#running !== null;
  }

  async execute(command: ControlCommand): Promise<unknown> {
    const { brokerId, calls } = this.#options;
    // Whoever held it may have ended a moment ago.
    const isOurs = await this.#lease.attempt();
    if (!isOurs && calls !== null) return calls.ask(brokerId, this.api, command);
    await this.#tail;
    if (this.#running === null) {
      throw new ControlRefusal(`${this.api} is not served here any more`, { code: 'BROKER_UNREACHABLE' });
    }
    return this.#running.plugin.execute(command);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stopEvents();
    this.#inOrder(async () => {
      // What was begun is brought to its end: what a removed broker had is erased.
      await this.#running?.plugin.close();
      await this.#end();
    });
    await this.#tail;
    this.#noteEnd();
    await this.#lease.release();
  }

  async #begin(): Promise<void> {
    const { brokerId, begin, hints, calls, emit } = this.#options;
    if (this.#running !== null || !this.#lease.held) return;
    const hosted = await begin((event) => {
      emit(event);
      const hint = hints?.hintOf(event) ?? null;
      if (hint !== null) calls?.hints.tell(brokerId, this.api, hint);
    });
    const { plugin } = hosted;
    const stopServing = calls?.serve(brokerId, this.api, (command) => plugin.execute(command)) ?? (() => undefined);
    this.#running = { plugin, end: () => hosted.end(), stopServing };
  }

  async #end(): Promise<void> {
    if (this.#running === null) return;
    const { plugin, end, stopServing } = this.#running;
    this.#running = null;
    stopServing();
    await end();
    await plugin.close();
  }

  #inOrder(step: () => Promise<void>): void {
    this.#tail = this.#tail.then(step).catch(this.#options.onFault);
  }
}
