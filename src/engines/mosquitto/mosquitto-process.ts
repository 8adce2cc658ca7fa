import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { within } from '../../platform/scheduling/within.ts';
import type { MosquittoProgram } from './mosquitto-program.ts';

interface MosquittoProcessOptions {
  readonly program: MosquittoProgram;
  readonly folder: string;
  readonly configFile: string;
  readonly pidFile: string;
  readonly stop: AbortSignal;
  /** Called for errors and warnings of the log, at most ten times per second. */
  readonly onProblem: (line: string) => void;
}

export interface MosquittoProcess {
  /** Resolves with the reason when the process has ended, for whatever cause. */
  readonly ended: Promise<string>;
  /** Reloads certificates by SIGHUP. Connections stay, but are not served until it is complete. */
  reload(): Promise<void>;
  /** Sends SIGTERM, so that Mosquitto writes its database, and SIGKILL after `patienceMs`. */
  end(patienceMs: number): Promise<void>;
  endAtOnce(): void;
}

/** Mosquitto reads its database before it listens. */
const START_MS = 60_000;
const END_MS = 4_000;
/** Mosquitto 2.0.11 ignores a SIGTERM between the log line that it listens and its event loop. */
const ASK_AGAIN_MS = 100;
const RELOAD_MS = 5_000;
const MAX_LINE = 1_000;
const PROBLEMS_PER_SECOND = 10;
const PROBLEMS_IN_REASON = 3;

export async function startMosquittoProcess(options: MosquittoProcessOptions): Promise<MosquittoProcess> {
  const { program, folder, configFile, pidFile, stop } = options;
  stop.throwIfAborted();
  const child = spawn(program.binary, ['-c', configFile], {
    cwd: folder,
    env: {},
    stdio: ['ignore', 'ignore', 'pipe'],
    // In the same process group, Ctrl-C for this service would also end Mosquitto and look like a crash.
    detached: true,
  });
  const guard = child.pid === undefined ? null : startGuard(child.pid);
  const log = new ProcessLog(child.stderr, options.onProblem);
  const ended = new Promise<string>((resolve) => {
    let failure: string | null = null;
    child.once('error', ({ message }) => {
      failure = message;
      if (child.pid === undefined) resolve(failure);
    });
    child.once('close', (code, signal) => {
      guard?.kill('SIGKILL');
      forget(pidFile);
      resolve(failure ?? endOf(code, signal, log.problems));
    });
  });
  const failing = ended.then((reason): never => {
    throw new Error(reason);
  });
  failing.catch(() => undefined);
  /** Waits for a line of the log. Errors: Mosquitto ended before. */
  const logged = (line: RegExp, timeoutMs: number, late: string) =>
    within(timeoutMs, Promise.race([log.next(line), failing]), () => new Error(late));
  const running: MosquittoProcess = {
    ended,
    reload: () => {
      const reloaded = logged(/^Reloading config\.$/, RELOAD_MS, 'Mosquitto did not read its files again in time');
      child.kill('SIGHUP');
      return reloaded;
    },
    end: (patienceMs) => end(child, ended, patienceMs),
    endAtOnce: () => void child.kill('SIGTERM'),
  };
  const onStop = () => void running.end(END_MS);
  stop.addEventListener('abort', onStop);
  void ended.then(() => stop.removeEventListener('abort', onStop));
  try {
    // Written immediately, so that the process is found again if the service is killed now.
    if (child.pid !== undefined) writeFileSync(pidFile, String(child.pid), { mode: 0o600 });
    await logged(/^mosquitto version \S+ running$/, START_MS, `Mosquitto did not listen within ${START_MS / 1_000} s`);
  } catch (error) {
    await running.end(END_MS);
    throw error;
  }
  return running;
}

/** Mosquitto 2.0.11 may ignore the first SIGTERM, and one that hangs ignores each. */
const GUARD = `read _
for attempt in 1 2 3 4 5 6 7 8 9 10; do kill -TERM "$1" || exit; sleep 1; done
kill -KILL "$1"`;

/**
 * Ends Mosquitto when this process ends, however: its standard input is then closed. A Mosquitto that stayed would hold
 * the ports, and serve devices without management. Without a shell, the next start of the service ends it.
 */
function startGuard(pid: number): ChildProcess {
  const options: SpawnOptions = { stdio: ['pipe', 'ignore', 'ignore'], env: { PATH: '/usr/bin:/bin' }, detached: true };
  const guard = spawn('/bin/sh', ['-c', GUARD, 'mosquitto-guard', String(pid)], options);
  guard.on('error', () => undefined);
  guard.stdin?.on('error', () => undefined);
  // It never keeps this process alive.
  guard.unref();
  (guard.stdin as Socket | null)?.unref();
  return guard;
}

/** A file that stays is harmless: its process id does not identify a Mosquitto of this folder. */
function forget(pidFile: string): void {
  try {
    rmSync(pidFile, { force: true });
  } catch {
    // If the folder cannot be written, the next start reports it.
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

function endOf(code: number | null, signal: NodeJS.Signals | null, problems: readonly string[]): string {
  const how = signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
  return [`Mosquitto ${how}`, ...problems].join(': ');
}

/** Reads standard error, to which Mosquitto writes its log. It must be read continuously, or Mosquitto blocks. */
class ProcessLog {
  readonly #onProblem: (line: string) => void;
  readonly problems: string[] = [];
  readonly #waiting = new Map<RegExp, () => void>();
  #rest = '';
  #second = 0;
  #reported = 0;

  constructor(stream: Readable, onProblem: (line: string) => void) {
    this.#onProblem = onProblem;
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => this.#read(text));
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
    this.problems.push(line);
    if (this.problems.length > PROBLEMS_IN_REASON) this.problems.shift();
    const second = Math.floor(Date.now() / 1_000);
    if (second !== this.#second) this.#reported = 0;
    this.#second = second;
    this.#reported += 1;
    if (this.#reported <= PROBLEMS_PER_SECOND) this.#onProblem(line);
  }
}

/** Mosquitto deliberately runs as the user of this service. */
const NO_PROBLEM = /^Warning: Mosquitto should not be run as root/;
