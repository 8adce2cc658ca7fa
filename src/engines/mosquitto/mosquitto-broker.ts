import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  addressOf,
  type ListenerWanted,
  type RunningBroker,
  type RunningState,
} from '../../domains/brokers/broker-engine.ts';
import { type Administrator, ensureAdministrator } from './administrator.ts';
import { withFreePorts } from './free-ports.ts';
import { ListenerCertificates } from './listener-certificates.ts';
import { ListenerFiles } from './listener-files.ts';
import { mosquittoConfig } from './mosquitto-config.ts';
import { type MosquittoProcess, startMosquittoProcess } from './mosquitto-process.ts';
import type { MosquittoProgram } from './mosquitto-program.ts';
import { MISSED_PINGS, watchMosquitto } from './mosquitto-watch.ts';
import { stopOrphanedProcess } from './orphaned-process.ts';
import { replaceFile } from './replace-file.ts';

/** What is used of a logger; pino's shape. */
export interface MosquittoLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}

export interface MosquittoBrokerOptions {
  readonly id: string;
  /** Absolute; belongs to this broker alone; created when missing. */
  readonly folder: string;
  /** Port 0: any free one. A taken port: the next free one. */
  readonly listeners: readonly ListenerWanted[];
  /** The account of the service, which exists and may do everything from each start on; the folder holds its hash only. */
  readonly administrator: Administrator;
  readonly program: MosquittoProgram;
  readonly log: MosquittoLog;
  /** It is ended and started again when it answers nothing for four times this long. Default 15,000. */
  readonly pingMs?: number;
  /**
   * STARTING -> RUNNING | FAILED; FAILED -> STARTING after a pause; RUNNING -> STARTING for other settings; any -> STOPPED by `close()`.
   * Each change once. `error` with FAILED.
   */
  readonly onState?: (state: RunningState, error?: string) => void;
}

const CONFIG_FILE = 'mosquitto.conf';
const PID_FILE = 'mosquitto.pid';
/** What it keeps may be much, and nobody is in a hurry. */
const RESTART_END_MS = 60_000;
/** One that hangs would write nothing any more. */
const HANGING_END_MS = 2_000;
/** It may write much at times, as with each save of what it keeps, and serves nobody meanwhile. */
const PING_MS = 15_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** A process that ran this long failed for a new reason, so the pauses start small again. */
const STEADY_MS = 60_000;

/** Resolves when Mosquitto listens; rejects when it cannot start the first time. Afterwards it is kept running. */
export async function startMosquittoBroker(options: MosquittoBrokerOptions): Promise<MosquittoBroker> {
  const { folder, id, log } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const wasThere = await endLeftOverIn(folder);
  if (wasThere) log.warn({ broker: id }, 'ended a Mosquitto that an earlier run of this service had left');
  const broker = new MosquittoBroker(options, await withFreePorts(options.listeners));
  await broker.start();
  return broker;
}

/** Ends what runs in the folder of a broker although no service does; answers whether there was something. */
export function endLeftOverIn(folder: string): Promise<boolean> {
  const configFile = join(resolve(folder), CONFIG_FILE);
  // Its configuration file is that of this very broker.
  const isOurs = ([, option, file]: readonly string[]) => option === '-c' && file === configFile;
  return stopOrphanedProcess(join(resolve(folder), PID_FILE), isOurs);
}

/** A Mosquitto process of this service, started again whenever it ends. */
export class MosquittoBroker implements RunningBroker {
  readonly listeners: readonly ListenerWanted[];
  /** Certificates; a change counts from `reload` or `restart` on. */
  readonly files: ListenerFiles;
  readonly certificates = new ListenerCertificates(this);
  readonly #options: MosquittoBrokerOptions;
  readonly #closing = new AbortController();
  /** Callers of `restart`, until a start begins: they learn how it went. */
  #restarts: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];
  #process: MosquittoProcess | null = null;
  #pause = new AbortController();
  #state: RunningState | null = null;
  #supervision: Promise<void> = Promise.resolve();
  #closed: Promise<void> | null = null;

  constructor(options: MosquittoBrokerOptions, listeners: readonly ListenerWanted[]) {
    this.#options = options;
    this.listeners = listeners;
    this.files = new ListenerFiles(options.folder);
  }

  async start(): Promise<void> {
    const first = await this.#run();
    this.#supervision = this.#supervise(first);
  }

  /** Has it read the certificates of listeners for MQTT over TCP again; connections stay. Errors: it does not run. */
  async reload(): Promise<void> {
    if (this.#process === null) throw new Error('Mosquitto does not run now');
    await this.#process.reload();
  }

  /**
   * Starts it with its settings as they are now; persistent sessions and retained messages are there again. Errors: it could not be
   * started so; it is tried again and again.
   */
  async restart(): Promise<void> {
    if (this.#closing.signal.aborted) throw stopped();
    const started = new Promise<void>((resolve, reject) => this.#restarts.push({ resolve, reject }));
    this.#tell('STARTING');
    this.#pause.abort();
    await this.#process?.end(RESTART_END_MS);
    await started;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** For a process that ends without closing it. */
  endAtOnce(): void {
    this.#process?.endAtOnce();
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    this.#pause.abort();
    await this.#supervision;
    for (const { reject } of this.#restarts.splice(0)) reject(stopped());
    this.#tell('STOPPED');
  }

  async #supervise(first: MosquittoProcess): Promise<void> {
    let running: MosquittoProcess | null = first;
    let pauseMs = FIRST_PAUSE_MS;
    while (running) {
      const startedAt = Date.now();
      // Asked for while it was starting, with settings that it may not have seen.
      if (this.#restarts.length > 0) void running.end(RESTART_END_MS);
      const reason = await this.#endOf(running);
      running = null;
      this.#process = null;
      if (Date.now() - startedAt > STEADY_MS) pauseMs = FIRST_PAUSE_MS;
      let isWanted = this.#restarts.length > 0;
      if (!isWanted && !this.#closing.signal.aborted) this.#failed(reason);
      while (!running && !this.#closing.signal.aborted) {
        if (!isWanted) {
          await this.#wait(pauseMs);
          pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
        }
        if (this.#closing.signal.aborted) return;
        isWanted = false;
        running = await this.#run().catch(() => null);
      }
    }
  }

  /** Resolves with the reason when it has ended, by itself or because it hung. */
  async #endOf(running: MosquittoProcess): Promise<string> {
    const { id, administrator, pingMs = PING_MS } = this.#options;
    let hung: string | null = null;
    const onSilent = () => {
      hung = `Mosquitto answered nothing for ${(MISSED_PINGS * pingMs) / 1_000} s, and was ended`;
      void running.end(HANGING_END_MS);
    };
    const stop = watchMosquitto({ brokerId: id, url: addressOf(this.listeners), administrator, pingMs, onSilent });
    const reason = await running.ended;
    stop();
    return hung ?? reason;
  }

  async #wait(ms: number): Promise<void> {
    if (this.#restarts.length > 0) return;
    this.#pause = new AbortController();
    await delay(ms, undefined, { signal: this.#pause.signal }).catch(() => undefined);
  }

  async #run(): Promise<MosquittoProcess> {
    const { id, log } = this.#options;
    const waiting = this.#restarts.splice(0);
    this.#tell('STARTING');
    try {
      const running = await this.#startProcess();
      this.#process = running;
      const open = this.listeners.filter(({ number, tls }) => !tls || this.files.inUse(number) !== null);
      log.info({ broker: id, ports: open.map(({ port }) => port) }, 'a Mosquitto of this service listens');
      this.#tell('RUNNING');
      for (const { resolve } of waiting) resolve();
      return running;
    } catch (error) {
      this.#failed(error instanceof Error ? error.message : String(error));
      for (const { reject } of waiting) reject(error);
      throw error;
    }
  }

  async #startProcess(): Promise<MosquittoProcess> {
    const { id, folder, program, administrator, log } = this.#options;
    const accessFile = join(folder, 'dynamic-security.json');
    const configFile = join(folder, CONFIG_FILE);
    await ensureAdministrator(accessFile, administrator);
    const config = mosquittoConfig({
      folder,
      plugin: program.plugin,
      accessFile,
      listeners: this.listeners,
      filesOf: (number) => this.files.inUse(number),
      isRoot: process.getuid?.() === 0,
    });
    await replaceFile(configFile, config);
    return startMosquittoProcess({
      program,
      folder,
      configFile,
      pidFile: join(folder, PID_FILE),
      stop: this.#closing.signal,
      onProblem: (line) => log.warn({ broker: id, line }, 'a Mosquitto of this service tells a problem'),
    });
  }

  #failed(reason: string): void {
    const { id, log } = this.#options;
    log.error({ broker: id, reason }, 'a Mosquitto of this service failed');
    this.#tell('FAILED', reason);
  }

  #tell(state: RunningState, error?: string): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#options.onState?.(state, error);
  }
}

const stopped = () => new Error('The broker is being stopped');
