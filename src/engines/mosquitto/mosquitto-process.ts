import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import type { MosquittoProgram } from './mosquitto-program.ts';

export interface MosquittoProcessOptions {
  readonly program: MosquittoProgram;
  /** Its working folder. */
  readonly folder: string;
  readonly configFile: string;
  /** Has the number of the process as long as it runs. */
  readonly pidFile: string;
  /** Ends it, also while it starts. */
  readonly stop: AbortSignal;
  /** Errors and warnings of its log, at most some ten in a second; beyond that they are left out. */
  readonly onProblem: (line: string) => void;
}

/** One Mosquitto that listens. */
export interface MosquittoProcess {
  /** Resolves with the reason when it has ended, whoever ended it. */
  readonly ended: Promise<string>;
  /**
   * SIGHUP: certificates of listeners for MQTT over TCP are read again (2.0.11 reads neither authorities nor listeners again, nor anything
   * of WebSocket listeners). Connections stay. Resolves once it has begun to, and it serves nobody until it is done.
   */
  reload(): Promise<void>;
  /** SIGTERM, which has it write what it keeps, and SIGKILL where that takes longer. Resolves when it has ended. */
  end(patienceMs: number): Promise<void>;
  /** SIGTERM, and that is all. */
  endAtOnce(): void;
}

/** It reads what it kept before it listens. */
const START_MS = 60_000;
/** Of a service that ends. */
const END_MS = 4_000;
/** Between saying that it listens and its first turn Mosquitto (2.0.11) forgets a SIGTERM. */
const ASK_AGAIN_MS = 100;
const RELOAD_MS = 5_000;
const MAX_LINE = 1_000;
const PROBLEMS_PER_SECOND = 10;
const PROBLEMS_TOLD = 3;

/** Rejects with the reason when it ends instead. */
export async function startMosquittoProcess(options: MosquittoProcessOptions): Promise<MosquittoProcess> {
  const { program, folder, configFile, pidFile, stop } = options;
  stop.throwIfAborted();
  const child = spawn(program.binary, ['-c', configFile], {
    cwd: folder,
    env: {},
    stdio: ['ignore', 'ignore', 'pipe'],
    // A Ctrl-C for this service would end it, too, and look like a crash.
    detached: true,
  });
  const log = new ProcessLog(child.stderr, options.onProblem);
  const ended = new Promise<string>((resolve) => {
    let failure: string | null = null;
    child.once('error', ({ message }) => {
      failure = message;
      if (child.pid === undefined) resolve(failure);
    });
    child.once('close', (code, signal) => {
      forget(pidFile);
      resolve(failure ?? endOf(code, signal, log.problems));
    });
  });
  const running: MosquittoProcess = {
    ended,
    reload: async () => {
      const begun = log.next(/^Reloading config\.$/);
      child.kill('SIGHUP');
      await within(RELOAD_MS, Promise.race([begun, failing(ended)]), 'Mosquitto did not read its files again in time');
    },
    end: (patienceMs) => end(child, ended, patienceMs),
    endAtOnce: () => void child.kill('SIGTERM'),
  };
  const onStop = () => void running.end(END_MS);
  stop.addEventListener('abort', onStop);
  void ended.then(() => stop.removeEventListener('abort', onStop));
  try {
    // At once: a service that is killed now must find it again.
    if (child.pid !== undefined) writeFileSync(pidFile, String(child.pid), { mode: 0o600 });
    const ready = Promise.race([log.next(/^mosquitto version \S+ running$/), failing(ended)]);
    await within(START_MS, ready, `Mosquitto did not listen within ${START_MS / 1_000} s`);
  } catch (error) {
    await running.end(END_MS);
    throw error;
  }
  return running;
}

/** Where it cannot be removed it names a process that is no Mosquitto of this folder, and does no harm. */
function forget(pidFile: string): void {
  try {
    rmSync(pidFile, { force: true });
  } catch {
    // The folder cannot be written, which the next start tells.
  }
}

async function end(child: ChildProcess, ended: Promise<string>, patienceMs: number): Promise<void> {
  const asking = setInterval(() => child.kill('SIGTERM'), ASK_AGAIN_MS);
  const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs);
  child.kill('SIGTERM');
  await ended;
  clearInterval(asking);
  clearTimeout(timer);
}

const failing = async (ended: Promise<string>): Promise<never> => {
  throw new Error(await ended);
};

async function within<T>(ms: number, work: Promise<T>, tooLate: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(tooLate)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

function endOf(code: number | null, signal: NodeJS.Signals | null, problems: readonly string[]): string {
  const how = signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
  return [`Mosquitto ${how}`, ...problems].join(': ');
}

/** Reads along on standard error, where Mosquitto writes its whole log: it must not be kept waiting. */
class ProcessLog {
  readonly #onProblem: (line: string) => void;
  readonly #problems: string[] = [];
  readonly #waiting = new Map<RegExp, () => void>();
  #rest = '';
  #second = 0;
  #told = 0;

  constructor(stream: Readable, onProblem: (line: string) => void) {
    this.#onProblem = onProblem;
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => this.#read(text));
  }

  /** The last ones. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  next(line: RegExp): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(line, resolve));
  }

  #read(text: string): void {
    const lines = `${this.#rest}${text}`.split('\n');
    this.#rest = (lines.pop() ?? '').slice(0, MAX_LINE);
    for (const line of lines) this.#line(line.slice(0, MAX_LINE).replace(/^\d+: /, ''));
  }

  #line(line: string): void {
    for (const [pattern, resolve] of this.#waiting) {
      if (!pattern.test(line)) continue;
      this.#waiting.delete(pattern);
      resolve();
    }
    if (!/^(Error|Warning)\b/.test(line) || NO_PROBLEM.test(line)) return;
    this.#problems.push(line);
    if (this.#problems.length > PROBLEMS_TOLD) this.#problems.shift();
    const second = Math.floor(Date.now() / 1_000);
    if (second !== this.#second) this.#told = 0;
    this.#second = second;
    this.#told += 1;
    if (this.#told <= PROBLEMS_PER_SECOND) this.#onProblem(line);
  }
}

/** It runs as whoever this service runs as, on purpose. */
const NO_PROBLEM = /^Warning: Mosquitto should not be run as root/;
