/**
 * A healthy client in its own process. PER_SECOND times per second it sends a GraphQL query, a REST request and a QoS 1
 * message, also while earlier ones have no response. Runs as `node healthy.js` with an IPC channel. The first message
 * states what to read. Returns latencies in milliseconds since the previous call.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { prefer } from '../prefer.ts';
import { type MqttConnection, openMqtt } from './mqtt-tools.ts';

const PER_SECOND = 10;
/** A response that takes longer counts as a failure. */
const TIMEOUT_MS = 30_000;
const GRAPH = 'query ($id: ID!) { broker(id: $id) { id name isConnected } }';

interface HealthyTarget {
  readonly host: string;
  readonly httpPort: number;
  readonly mqttPort: number;
  readonly projectId: string;
  readonly brokerId: string;
  readonly token: string;
  readonly username: string;
  readonly password: string;
  /** Folders in `/proc` of the threads that serve this client. */
  readonly tasks: readonly string[];
}

export interface Health {
  readonly count: number;
  readonly p99Ms: number;
  /** Without the longest time that a thread which serves this client, or this client, waited for a processor. */
  readonly ownP99Ms: number;
  readonly maxMs: number;
  /** The kind of request that took longest. */
  readonly worst: string;
  /** Requests that were refused or had no response. */
  readonly failures: readonly string[];
  /** Number of MQTT connections that the broker closed. */
  readonly disconnects: number;
}

interface Healthy {
  /** Results since the previous call. A pending request counts with the time that it has waited. */
  health(): Promise<Health>;
  close(): void;
}

export async function startHealthy(target: HealthyTarget): Promise<Healthy> {
  const child = fork(fileURLToPath(import.meta.url), { detached: true });
  prefer(child.pid ?? 0);
  child.send(target);
  await once(child, 'message');
  return { health: () => asked(child), close: () => child.kill() };
}

async function asked(child: ChildProcess): Promise<Health> {
  child.send('health');
  const [health] = await once(child, 'message');
  return health;
}

interface Started {
  readonly kind: string;
  readonly startedAt: number;
  readonly waited: readonly number[];
}

class Samples {
  readonly #tasks: readonly string[];
  #taken: { readonly kind: string; readonly ms: number; readonly ownMs: number }[] = [];
  #failures: string[] = [];
  #waiting = new Set<Started>();
  disconnects = 0;

  constructor(tasks: readonly string[]) {
    this.#tasks = [...tasks, '/proc/self'];
  }

  async measure(kind: string, work: () => Promise<void>): Promise<void> {
    const started = { kind, startedAt: performance.now(), waited: this.#waitedMs() };
    this.#waiting.add(started);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`no response in ${TIMEOUT_MS / 1_000} s`)), TIMEOUT_MS);
    });
    try {
      await Promise.race([work(), late]);
      this.#taken.push(this.#sample(started));
    } catch (error) {
      this.#failures.push(`${kind}: ${error instanceof Error ? error.message : error}`);
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(started);
    }
  }

  health(): Health {
    const waiting = [...this.#waiting].map((started) => this.#sample(started));
    const all = [...this.#taken, ...waiting].sort((one, other) => one.ms - other.ms);
    const worst = all.at(-1);
    const health = {
      count: all.length,
      p99Ms: p99(all.map(({ ms }) => ms)),
      ownP99Ms: p99(all.map(({ ownMs }) => ownMs)),
      maxMs: worst?.ms ?? 0,
      worst: worst?.kind ?? 'none',
      failures: this.#failures,
      disconnects: this.disconnects,
    };
    [this.#taken, this.#failures, this.disconnects] = [[], [], 0];
    return health;
  }

  #sample({ kind, startedAt, waited }: Started) {
    const ms = performance.now() - startedAt;
    const waitedMs = Math.max(...this.#waitedMs().map((now, i) => now - (waited[i] ?? now)));
    return { kind, ms, ownMs: ms - Math.min(ms, Math.max(0, waitedMs)) };
  }

  #waitedMs(): number[] {
    return this.#tasks.map(waitedMs);
  }
}

function p99(milliseconds: readonly number[]): number {
  const sorted = milliseconds.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? 0;
}

/** 0 if the thread has exited. */
function waitedMs(task: string): number {
  try {
    return Number(readFileSync(`${task}/schedstat`, 'latin1').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('disconnect', () => process.exit(0));
  const [target] = (await once(process, 'message')) as [HealthyTarget];
  const samples = new Samples(target.tasks);
  const agent = new Agent({ keepAlive: true });
  let connection: MqttConnection | null = null;
  const connect = async () => {
    connection = await openMqtt(target, { username: target.username, password: target.password, clientId: 'healthy' });
    connection.onClose(() => {
      connection = null;
      samples.disconnects += 1;
    });
  };
  await connect();
  let connecting: Promise<void> | null = null;
  const publish = async () => {
    if (connection === null) {
      connecting ??= connect().finally(() => {
        connecting = null;
      });
      await connecting;
    }
    await connection?.publish('healthy/state', 'well', 1);
  };
  const graph = JSON.stringify({ query: GRAPH, variables: { id: target.brokerId } });
  process.on('message', () => process.send?.(samples.health()));
  setInterval(() => {
    void samples.measure('GraphQL', () => ask('POST', '/graphql', graph));
    void samples.measure('REST', () => ask('GET', `/api/projects/${target.projectId}/brokers`));
    void samples.measure('publish', publish);
  }, 1_000 / PER_SECOND);
  process.send?.('ready');

  function ask(method: string, path: string, body?: string): Promise<void> {
    const { host, httpPort: port, token } = target;
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return new Promise((resolve, reject) => {
      const sent = request({ host, port, method, path, headers, agent }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.once('error', reject);
        response.once('end', () => {
          if (response.statusCode === 200 && !text.includes('"errors"')) resolve();
          else reject(new Error(`${response.statusCode} ${text.slice(0, 100)}`));
        });
      });
      sent.once('error', reject);
      sent.end(body);
    });
  }
}
