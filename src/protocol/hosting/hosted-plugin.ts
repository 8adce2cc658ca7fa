import { ConcurrencyLimit } from '../../platform/scheduling/concurrency-limit.ts';
import type { Lease } from '../../platform/storage/leases/leases.ts';
import type { ControlApi, ControlCommand, ControlEvent } from '../control/envelope.ts';
import { type ControlPlugin, ControlRefusal } from '../control/plugin.ts';
import type { HostedCalls } from './hosted-calls.ts';
import type { EventForwarding } from './hosted-events.ts';
import type { Placement } from './placement/placement.ts';

export interface Hosted {
  readonly plugin: ControlPlugin;
  close(): Promise<void>;
}

interface HostedPluginOptions {
  readonly api: ControlApi;
  readonly brokerId: string;
  readonly start: (emit: (event: ControlEvent) => void) => Hosted | Promise<Hosted>;
  readonly forwarding: EventForwarding | null;
  readonly placement: Placement;
  /** Calls between the processes on one database; `null` if there can be only one. */
  readonly calls: HostedCalls | null;
  readonly emit: (event: ControlEvent) => void;
  /** Whether events have listeners. Default: always. */
  readonly isHeard?: (() => boolean) | undefined;
  readonly onFault: (error: unknown) => void;
}

/**
 * A control API of a broker that only one process may serve: WAITING <-> RUNNING, as this process gets and loses the
 * lease. Other processes forward commands to the lease holder.
 *
 * Errors in addition to the plugin's own: BROKER_UNREACHABLE while it closes here; BROKER_TIMEOUT if the lease holder
 * does not respond.
 */
export class HostedPlugin implements ControlPlugin {
  readonly api: ControlApi;
  readonly #options: HostedPluginOptions;
  readonly #lease: Lease;
  readonly #stopFollowing: () => void;
  #running: Hosted | null = null;
  #stopServing: () => void = () => undefined;
  readonly #steps = new ConcurrencyLimit({ maxRunning: 1 });
  #closing: Promise<void> | null = null;
  #resolveClosed: () => void = () => undefined;
  /** Resolves after `close`, when nothing runs in this process. */
  readonly closed = new Promise<void>((resolve) => {
    this.#resolveClosed = resolve;
  });

  constructor(options: HostedPluginOptions) {
    const { api, brokerId, forwarding, placement, calls, emit, isHeard = () => true } = options;
    this.api = api;
    this.#options = options;
    this.#lease = placement.want(brokerId, (held) =>
      this.#inOrder(() => (held ? this.#start() : this.#closeRunning())),
    );
    const isListening = () => !this.#lease.held && isHeard();
    const follower = forwarding && { api, forwarding, isListening, emit };
    this.#stopFollowing = (follower && calls?.events.follow(brokerId, follower)) ?? (() => undefined);
  }

  get isRunning(): boolean {
    return this.#running !== null;
  }

  async execute(command: ControlCommand): Promise<unknown> {
    const { brokerId, calls } = this.#options;
    // The previous lease holder may have exited a moment ago.
    const isHolder = await this.#lease.attempt();
    if (!isHolder && calls !== null) return calls.call(brokerId, this.api, command);
    await this.#inOrder(async () => undefined);
    if (this.#running === null) {
      throw new ControlRefusal(`${this.api} is no longer served here`, { code: 'BROKER_UNREACHABLE' });
    }
    return this.#running.plugin.execute(command);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stopFollowing();
    await this.#inOrder(async () => {
      // First completes the commands in progress, such as the deletion of data of a removed broker.
      await this.#running?.plugin.close();
      await this.#closeRunning();
    });
    this.#resolveClosed();
    await this.#lease.release();
  }

  async #start(): Promise<void> {
    const { brokerId, start, forwarding, calls, emit } = this.#options;
    if (this.#running !== null || !this.#lease.held) return;
    const running = await start((event) => {
      emit(event);
      const key = forwarding?.keyOf(event) ?? null;
      if (key !== null) calls?.events.announce(brokerId, this.api, key);
    });
    this.#running = running;
    const stop = calls?.serve(brokerId, this.api, (command) => running.plugin.execute(command));
    this.#stopServing = stop ?? (() => undefined);
  }

  async #closeRunning(): Promise<void> {
    const running = this.#running;
    if (running === null) return;
    this.#running = null;
    this.#stopServing();
    await running.close();
    await running.plugin.close();
  }

  #inOrder(step: () => Promise<void>): Promise<void> {
    return this.#steps.run(step).catch(this.#options.onFault);
  }
}
