import { mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { messageOf } from '../../platform/errors.ts';
import { withPorts } from '../../platform/network/free-ports.ts';
import { Backoff } from '../../platform/scheduling/backoff.ts';
import {
  addressOf,
  type BrokerMaximums,
  type ListenerWanted,
  type RunningBroker,
  type RunningState,
} from '../../protocol/hosting/broker-engine.ts';
import { RESTART_BACKOFF } from '../../protocol/hosting/worker-thread.ts';
import { type Administrator, ensureAdministrator } from './administrator.ts';
import { ListenerCertificates } from './listener-certificates.ts';
import { ListenerFiles } from './listener-files.ts';
import { mosquittoConfig } from './mosquitto-config.ts';
import { type MosquittoProcess, startMosquittoProcess } from './mosquitto-process.ts';
import type { MosquittoProgram } from './mosquitto-program.ts';
import { configurationRefusal, isSince21, versionOf } from './mosquitto-version.ts';
import { MISSED_PINGS, watchMosquitto } from './mosquitto-watch.ts';
import { stopOrphanedProcess } from './orphaned-process.ts';
import { replaceFile } from './replace-file.ts';

export interface MosquittoBrokerOptions {
  readonly id: string;
  /** Absolute path of a folder that only this broker uses. It is created if missing. */
  readonly folder: string;
  /** Port 0 selects any free port. If a port is in use, the start fails. */
  readonly listeners: readonly ListenerWanted[];
  /** Default: none. */
  readonly maximums?: BrokerMaximums;
  /** The account of the service. Each start restores it. The folder stores only the password hash. */
  readonly administrator: Administrator;
  readonly program: MosquittoProgram;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Interval of pings in milliseconds. After four unanswered pings, the process is restarted. Default: 15,000. */
  readonly pingMs?: number;
  /** As in `EmbeddedBrokerOptions`; also RUNNING -> STARTING for a restart. */
  readonly onState?: (state: RunningState, error?: string) => void;
}

const ACCESS_FILE = 'dynamic-security.json';
const CONFIG_FILE = 'mosquitto.conf';
const TESTED_FILE = 'mosquitto.conf.tested';
const PID_FILE = 'mosquitto.pid';
/** Writing a large database may take long. */
const RESTART_END_MS = 60_000;
const HANGING_END_MS = 2_000;
/** Mosquitto serves no client while it writes, for example at each save of its database. */
const PING_MS = 15_000;

/** Resolves when the Mosquitto listens. Rejects if the first start fails. Later failures restart it. */
export async function startMosquittoBroker(options: MosquittoBrokerOptions): Promise<MosquittoBroker> {
  const { folder, id, log } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const wasThere = await endLeftOverIn(folder);
  if (wasThere) log.warn({ broker: id }, 'ended a Mosquitto that an earlier run of this service had left');
  const broker = new MosquittoBroker(options, await withPorts(options.listeners));
  await broker.start();
  return broker;
}

/** Ends a process that an earlier run of the service left in the folder of a broker. Returns whether there was one. */
export function endLeftOverIn(folder: string): Promise<boolean> {
  const configFile = join(resolve(folder), CONFIG_FILE);
  const isOurs = ([, option, file]: readonly string[]) => option === '-c' && file === configFile;
  return stopOrphanedProcess(join(resolve(folder), PID_FILE), isOurs);
}

/** A Mosquitto process of this service, which is restarted whenever it ends. */
export class MosquittoBroker implements RunningBroker {
  readonly listeners: readonly ListenerWanted[];
  readonly files: ListenerFiles;
  readonly certificates = new ListenerCertificates(this);
  readonly #options: MosquittoBrokerOptions;
  readonly #closing = new AbortController();
  /** Callers of `restart` that wait for the next start. They receive its result. */
  #restarts: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];
  #process: MosquittoProcess | null = null;
  #version = '';
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

  /** Whether `reload` also loads the certificates of WebSocket listeners: in Mosquitto 2.0, only a restart does. */
  get reloadsWebSocket(): boolean {
    return isSince21(this.#version);
  }

  /** Loads the certificates of listeners again. Connections stay open. */
  async reload(): Promise<void> {
    if (this.#process === null) throw new Error('Mosquitto does not run now');
    await this.#process.reload();
  }

  /** Returns why Mosquitto would not start with the present files; `null` if it would, or is too old to test them. */
  async configurationRefusal(): Promise<string | null> {
    const { folder, program } = this.#options;
    const file = join(folder, TESTED_FILE);
    try {
      // Not the version that runs: the programs may have been updated since.
      const version = await versionOf(program);
      await replaceFile(file, this.#config(version));
      return await configurationRefusal(program.binary, version, file);
    } catch (error) {
      return messageOf(error);
    } finally {
      await rm(file, { force: true });
    }
  }

  /** Persistent sessions and retained messages stay. Errors: the start failed; it is then retried. */
  async restart(): Promise<void> {
    if (this.#closing.signal.aborted) throw stopped();
    const started = new Promise<void>((resolve, reject) => this.#restarts.push({ resolve, reject }));
    this.#setState('STARTING');
    this.#pause.abort();
    await this.#process?.end(RESTART_END_MS);
    await started;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  endAtOnce(): void {
    this.#process?.endAtOnce();
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    this.#pause.abort();
    await this.#supervision;
    for (const { reject } of this.#restarts.splice(0)) reject(stopped());
    this.#setState('STOPPED');
  }

  async #supervise(first: MosquittoProcess): Promise<void> {
    let running: MosquittoProcess | null = first;
    const backoff = new Backoff(RESTART_BACKOFF);
    while (running) {
      const startedAt = Date.now();
      // Restarts that were requested during the start may not be covered by it.
      if (this.#restarts.length > 0) void running.end(RESTART_END_MS);
      const reason = await this.#endOf(running);
      running = null;
      this.#process = null;
      let ranMs = Date.now() - startedAt;
      let isWanted = this.#restarts.length > 0;
      if (!isWanted && !this.#closing.signal.aborted) this.#failed(reason);
      while (!running && !this.#closing.signal.aborted) {
        if (!isWanted) await this.#wait(backoff.nextAfterRun(ranMs));
        ranMs = 0;
        if (this.#closing.signal.aborted) return;
        isWanted = false;
        running = await this.#run().catch(() => null);
      }
    }
  }

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
    this.#setState('STARTING');
    try {
      const running = await this.#startProcess();
      this.#process = running;
      const open = this.listeners.filter(({ number, tls }) => !tls || this.files.inUse(number) !== null);
      log.info({ broker: id, ports: open.map(({ port }) => port) }, 'a Mosquitto of this service listens');
      this.#setState('RUNNING');
      for (const { resolve } of waiting) resolve();
      return running;
    } catch (error) {
      this.#failed(messageOf(error));
      for (const { reject } of waiting) reject(error);
      throw error;
    }
  }

  async #startProcess(): Promise<MosquittoProcess> {
    const { id, folder, program, administrator, log } = this.#options;
    const configFile = join(folder, CONFIG_FILE);
    this.#version = await versionOf(program);
    await ensureAdministrator(join(folder, ACCESS_FILE), administrator);
    await replaceFile(configFile, this.#config(this.#version));
    return startMosquittoProcess({
      program,
      folder,
      configFile,
      pidFile: join(folder, PID_FILE),
      stop: this.#closing.signal,
      onProblem: (line) => log.warn({ broker: id, line }, 'a Mosquitto of this service reports a problem'),
    });
  }

  #config(version: string): string {
    const { folder, program, maximums = {} } = this.#options;
    return mosquittoConfig({
      folder,
      plugin: program.plugin,
      accessFile: join(folder, ACCESS_FILE),
      listeners: this.listeners,
      maximums,
      version,
      filesOf: (number) => this.files.inUse(number),
      isRoot: process.getuid?.() === 0,
    });
  }

  #failed(reason: string): void {
    const { id, log } = this.#options;
    log.error({ broker: id, reason }, 'a Mosquitto of this service failed');
    this.#setState('FAILED', reason);
  }

  #setState(state: RunningState, error?: string): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#options.onState?.(state, error);
  }
}

const stopped = () => new Error('The broker is being stopped');
