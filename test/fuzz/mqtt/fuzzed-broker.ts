import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type BrokerProcessMessage,
  EMBEDDED_WORKER,
  forkBroker,
  runningListeners,
} from '../../data-plane/broker/broker-process.ts';
import { ADMINISTRATOR, listener } from '../../data-plane/broker/embedded.ts';
import { HealthyClient } from './healthy-client.ts';
import type { Stage } from './play.ts';

const RSS_INTERVAL = 100;
/** Maximum stall of the broker's event loop in milliseconds. */
const MAX_STALL = 200;
const LOOP_WATCH = new URL('./loop-watch.mjs', import.meta.url);
/** The log message of the service when the broker exits for any reason. */
const FAILURE = 'embedded broker failed';

/**
 * An embedded broker in its own process. The test watches its state, its log, its memory and a healthy client, and
 * records faults.
 */
export class FuzzedBroker implements Stage {
  readonly account = ADMINISTRATOR;
  readonly faults: string[] = [];
  /** Number of occurrences of each warning. */
  readonly warnings = new Map<string, number>();
  restarts = 0;
  /** Number of stalls above `MAX_STALL`, except while the broker starts, when it has no clients. */
  stalls = 0;
  /** Longest stall in milliseconds. See `loop-watch.mjs`. */
  longestStall = 0;
  /** Largest resident memory in bytes. */
  largestRss = 0;
  /** The stack of the fault. */
  output = '';
  readonly #folder = mkdtempSync(join(tmpdir(), 'fuzzed-broker-'));
  readonly #worker = pathToFileURL(join(this.#folder, 'watched-worker.mjs'));
  #process: ChildProcess | null = null;
  #client: HealthyClient | null = null;
  #port = 0;
  #isClosed = false;
  #isStarting = false;
  readonly #memory = setInterval(() => this.#readMemory(), RSS_INTERVAL);

  static async start(): Promise<FuzzedBroker> {
    const fuzzed = new FuzzedBroker();
    writeFileSync(fuzzed.#worker, `import '${LOOP_WATCH.href}'; await import('${EMBEDDED_WORKER.href}');`);
    await fuzzed.#start();
    if (fuzzed.hasFailed) throw new Error(fuzzed.faults.join('; '));
    const { port, account } = fuzzed;
    fuzzed.#client = await HealthyClient.start({
      port,
      account,
      onLost: (message) => fuzzed.#fault(message),
    });
    fuzzed.#isStarting = false;
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

  async settle(): Promise<void> {
    await this.#client?.settle();
  }

  /** Restarts the broker with the same folder and port. */
  async restart(how: 'close' | 'kill'): Promise<void> {
    this.restarts += 1;
    await this.#end(how);
    await this.#start();
    await this.settle();
    this.#isStarting = false;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#memory);
    await this.#client?.close();
    await this.#end('close');
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }

  async #start(): Promise<void> {
    const child = forkBroker(this.#folder, [listener({ port: this.#port })], this.#worker);
    this.#isStarting = true;
    this.#process = child;
    child.on('message', (message: BrokerProcessMessage) => this.#heard(message));
    try {
      const listeners = await runningListeners(child);
      this.#port = listeners[0]?.port ?? 0;
    } catch (error) {
      this.#fault(`the broker did not start: ${error instanceof Error ? error.message : error}`);
    }
  }

  #heard(message: BrokerProcessMessage): void {
    if (message.type === 'state' && message.state === 'FAILED') this.#fault(`the broker failed: ${message.error}`);
    if (message.type === 'stall' && !this.#isStarting) this.#stalled(message.ms);
    if (message.type !== 'log') return;
    const { level, fields, text } = message;
    if (level === 'warn') {
      this.#warn(fields.reason === undefined ? text : `${text}: ${fields.reason}`);
      return;
    }
    this.output = fields.stack ?? '';
    // An exception is a defect even if it affects only one connection or one record.
    if (text !== FAILURE) this.#fault(`${text}: ${fields.reason}`);
  }

  async #end(how: 'close' | 'kill'): Promise<void> {
    const child = this.#process;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    if (how === 'kill') child.kill('SIGKILL');
    else child.send('close');
    await exited;
  }

  #stalled(ms: number): void {
    this.longestStall = Math.max(this.longestStall, ms);
    if (ms > MAX_STALL) this.stalls += 1;
  }

  #warn(line: string): void {
    this.warnings.set(line, (this.warnings.get(line) ?? 0) + 1);
  }

  #fault(text: string): void {
    if (this.#isClosed) return;
    this.faults.push(text);
    // Closing the client ends all waits for the broker.
    void this.#client?.close();
  }

  #readMemory(): void {
    try {
      const rss = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.#process?.pid}/status`, 'latin1'))?.[1];
      this.largestRss = Math.max(this.largestRss, Number(rss ?? 0) * 1_024);
    } catch {
      // The process has exited, and the next one has not started yet.
    }
  }
}
