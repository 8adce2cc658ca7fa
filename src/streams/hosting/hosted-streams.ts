import type { ControlCommand, ControlEvent } from '../../control/envelope.ts';
import { type ControlPlugin, ControlRefusal } from '../../control/plugin.ts';
import type { BrokerLinkOptions } from '../../mqtt/broker-link.ts';
import type { Lease, Leases } from '../../storage/leases.ts';
import { STREAM_API } from '../control/stream-control.ts';
import { StreamPlugin } from '../control/stream-plugin.ts';
import type { StreamDefinitions } from '../definition/stream-definitions.ts';
import type { StreamEngine } from '../model/stream-engine.ts';
import type { StreamCalls } from './stream-calls.ts';

/** Of the time in which a command is to be answered: how long it waits for its stream to be subscribed. */
const SETTLE_SHARE = 0.7;

export interface HostedStreamsOptions {
  readonly link: BrokerLinkOptions;
  readonly definitions: StreamDefinitions;
  /** When nothing runs here yet. */
  readonly openEngine: (link: BrokerLinkOptions) => StreamEngine | Promise<StreamEngine>;
  readonly leases: Leases;
  /** To and from other processes on the same database; null: there can be none. */
  readonly calls: StreamCalls | null;
  readonly emit: (event: ControlEvent) => void;
  readonly onFault: (error: unknown) => void;
}

/** What runs in this process, because it holds the lease of the broker's streams. */
interface Running {
  readonly engine: StreamEngine;
  readonly plugin: StreamPlugin;
  readonly stopServing: () => void;
}

/**
 * `stream-processing` beside a remote broker: one process of those on the database runs the streams of a broker, and the others pass
 * commands on to it. Who runs them is settled by a lease; whoever gets it begins at once, and whoever loses it stops at once.
 *
 * Errors beside the plugin's own: BROKER_UNREACHABLE where it is just ending here, BROKER_TIMEOUT where the process that runs
 * them does not answer.
 */
export class HostedStreams implements ControlPlugin {
  readonly api = STREAM_API;
  readonly #options: HostedStreamsOptions;
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

  constructor(options: HostedStreamsOptions) {
    const { link, leases, calls, emit } = options;
    this.#options = options;
    this.#lease = leases.want(`streams:${link.id}`, (held) =>
      this.#inOrder(() => (held ? this.#begin() : this.#end())),
    );
    this.#stopEvents = calls?.onEvent(link.id, (event) => this.#lease.held || emit(event)) ?? (() => undefined);
  }

  /** In this process. */
  get isRunning(): boolean {
    return this.#running !== null;
  }

  async execute(command: ControlCommand): Promise<unknown> {
    const { link, calls } = this.#options;
    // Whoever held it may have ended a moment ago.
    const isOurs = await this.#lease.attempt();
    if (!isOurs && calls !== null) return calls.ask(link.id, command);
    await this.#tail;
    if (this.#running === null) {
      throw new ControlRefusal('Streams are not run here any more', { code: 'BROKER_UNREACHABLE' });
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
      // What was begun is brought to its end: the streams of a broker that was removed are erased.
      await this.#running?.plugin.close();
      await this.#end();
    });
    await this.#tail;
    this.#noteEnd();
    await this.#lease.release();
  }

  async #begin(): Promise<void> {
    const { link, definitions, openEngine, calls, emit, onFault } = this.#options;
    if (this.#running !== null || !this.#lease.held) return;
    const engine = await openEngine(link);
    const plugin = new StreamPlugin({
      definitions,
      engine,
      onFault,
      settleMs: link.timeoutMs * SETTLE_SHARE,
      emit: (event) => {
        emit(event);
        calls?.tell(link.id, event);
      },
    });
    const stopServing = calls?.serve(link.id, (command) => plugin.execute(command)) ?? (() => undefined);
    this.#running = { engine, plugin, stopServing };
  }

  async #end(): Promise<void> {
    if (this.#running === null) return;
    const { engine, plugin, stopServing } = this.#running;
    this.#running = null;
    stopServing();
    await engine.close();
    await plugin.close();
  }

  #inOrder(step: () => Promise<void>): void {
    this.#tail = this.#tail.then(step).catch(this.#options.onFault);
  }
}
