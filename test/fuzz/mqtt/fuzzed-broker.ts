import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunningBroker } from '../../../src/brokers/broker-engine.ts';
import { startEmbeddedBroker } from '../../../src/embedded/embedded-broker.ts';
import { ADMINISTRATOR, listener } from '../../embedded/embedded.ts';
import { workerUrl } from '../../support/workers.ts';
import { HealthyClient } from './healthy-client.ts';
import type { Stage } from './play.ts';

const RSS_INTERVAL = 100;
/** What the service logs when the broker ends, killed by a sequence or not. */
const FAILURE = 'embedded broker failed';

/**
 * An embedded broker in a process of its own, seen from outside: its state, its log, its memory, and a healthy client. Everything that
 * must not happen is a fault.
 */
export class FuzzedBroker implements Stage {
  readonly account = ADMINISTRATOR;
  readonly faults: string[] = [];
  /** Warnings of the broker, with how often each was logged. */
  readonly warnings = new Map<string, number>();
  restarts = 0;
  /** Bytes. */
  largestRss = 0;
  /** The stack of the fault, or what the broker wrote before it failed. */
  output = '';
  readonly #folder = mkdtempSync(join(tmpdir(), 'fuzzed-broker-'));
  #broker: RunningBroker | null = null;
  #client: HealthyClient | null = null;
  #port = 0;
  #pid: number | null = null;
  #isClosed = false;
  readonly #memory = setInterval(() => this.#readMemory(), RSS_INTERVAL);

  static async start(): Promise<FuzzedBroker> {
    const fuzzed = new FuzzedBroker();
    await fuzzed.#start();
    const { port, account } = fuzzed;
    fuzzed.#client = await HealthyClient.start({
      port,
      account,
      processorMs: () => fuzzed.#processorMs(),
      onLost: (message) => fuzzed.#fault(message),
    });
    return fuzzed;
  }

  get port(): number {
    return this.#port;
  }

  get hasFailed(): boolean {
    return this.faults.length > 0;
  }

  get roundTrips(): number {
    return this.#client?.roundTrips ?? 0;
  }

  get stalls(): number {
    return this.#client?.stalls ?? 0;
  }

  get longestStall(): number {
    return this.#client?.longestStall ?? 0;
  }

  async settle(): Promise<void> {
    await this.#client?.settle();
  }

  /** On the same folder and port. */
  async restart(how: 'close' | 'kill'): Promise<void> {
    if (this.#client) this.#client.isRestarting = true;
    this.restarts += 1;
    if (how === 'kill') this.#kill();
    await this.#broker?.close();
    await this.#start();
    await this.settle();
    if (this.#client) this.#client.isRestarting = false;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#memory);
    await this.#client?.close();
    await this.#broker?.close();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }

  async #start(): Promise<void> {
    try {
      this.#broker = await startEmbeddedBroker({
        id: 'fuzzed',
        folder: this.#folder,
        listeners: [listener({ port: this.#port })],
        administrator: ADMINISTRATOR,
        workerUrl: workerUrl('embedded/worker.js'),
        ownProcess: true,
        log: {
          info: (fields) => {
            if ('pid' in fields) this.#pid = Number(fields.pid);
          },
          warn: (fields, text) => this.#warn('reason' in fields ? `${text}: ${fields.reason}` : text),
          error: (fields: { readonly reason?: string; readonly output?: string; readonly stack?: string }, text) => {
            this.output = fields.stack ?? fields.output ?? '';
            // An exception that ended one connection or moved one record is a defect, too. A failure of the broker is a change of its state.
            if (text !== FAILURE) this.#fault(`${text}: ${fields.reason}`);
          },
        },
        onState: (state, error) => {
          if (state === 'FAILED') this.#fault(`the broker failed: ${error}`);
        },
      });
      this.#port = this.#broker.listeners[0]?.port ?? 0;
    } catch (error) {
      this.#fault(`the broker did not start: ${error instanceof Error ? error.message : error}`);
    }
  }

  #kill(): void {
    try {
      if (this.#pid !== null) process.kill(this.#pid, 'SIGKILL');
    } catch {
      // It has just failed, which is a fault.
    }
  }

  #warn(line: string): void {
    this.warnings.set(line, (this.warnings.get(line) ?? 0) + 1);
  }

  #fault(text: string): void {
    if (this.#isClosed) return;
    this.faults.push(text);
    // Ends every wait for the broker.
    void this.#client?.close();
  }

  /** 0 while the process is started again. */
  #processorMs(): number {
    try {
      // Behind the name, which may hold anything: utime and stime in ticks of 10 ms (proc_pid_stat(5)).
      const fields = readFileSync(`/proc/${this.#pid}/stat`, 'latin1')
        .replace(/^.*\) /s, '')
        .split(' ');
      return (Number(fields[11]) + Number(fields[12])) * 10;
    } catch {
      return 0;
    }
  }

  #readMemory(): void {
    try {
      const rss = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.#pid}/status`, 'latin1'))?.[1];
      this.largestRss = Math.max(this.largestRss, Number(rss ?? 0) * 1_024);
    } catch {
      // The process has ended, and the next one is not known yet.
    }
  }
}
