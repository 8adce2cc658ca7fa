import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';
import { findMosquitto, type MosquittoProgram } from '../../src/engines/mosquitto/mosquitto-program.ts';
import { createAuthority } from './certificates.ts';
import { freePort } from './free-port.ts';
import { onTestFinished } from './shared.ts';

/**
 * Real Mosquitto processes on loopback. Each process has its own folder and is stopped after the test. A test can stop
 * or kill it and start it again on the same port.
 */
export const ADMIN = { username: 'admin', password: 'correct horse' } as const;

const usualPath = () => process.env.PATH ?? '';

/** The first Mosquitto in a path: by default that of this run, which MOSQUITTO_BINARY selects (global-setup.ts). */
export function mosquittoProgram(searchPath = usualPath()): MosquittoProgram {
  const found = findMosquitto({ binary: undefined, plugin: undefined, searchPath });
  if (typeof found === 'string') throw new Error(found);
  return found;
}

const versions = new Map<string, string>();

/** For example `2.0.11`. */
export function mosquittoVersion(searchPath?: string): string {
  const { binary } = mosquittoProgram(searchPath);
  let version = versions.get(binary);
  if (version === undefined) {
    // Mosquitto 2.0.11 exits with code 3 after its help text.
    const { stdout } = spawnSync(binary, ['-h'], { encoding: 'utf8' });
    version = /^mosquitto version (\S+)/.exec(stdout)?.[1] ?? '';
    versions.set(binary, version);
  }
  return version;
}

/** What differs between versions of Mosquitto: the value of the newest of the versions that this run's one reached. */
export function sinceVersion<T>(
  values: Readonly<Record<`${number}.${number}.${number}`, T>>,
  version = mosquittoVersion(),
): T {
  const isReached = ([since]: readonly [string, T]) => since.localeCompare(version, 'en', { numeric: true }) <= 0;
  const found = Object.entries<T>(values).findLast(isReached);
  if (found === undefined) throw new Error(`there is no value for Mosquitto ${version}`);
  return found[1];
}

/** The end of PATH whose first Mosquitto is a 2.0, or `null`: next to a newer one, the package of Debian is there. */
export function pathOfMosquitto20(): string | null {
  const folders = usualPath().split(delimiter);
  const paths = folders
    .filter((folder) => existsSync(join(folder, 'mosquitto')))
    .map((folder) => folders.slice(folders.indexOf(folder)).join(delimiter));
  return paths.find((path) => mosquittoVersion(path).startsWith('2.0.')) ?? null;
}

export interface MosquittoOptions {
  /** `dynsec`: the dynamic security plugin with ADMIN; `anonymous`: no checks; `passwords`: only ADMIN. */
  readonly access?: 'dynsec' | 'anonymous' | 'passwords';
  /** Types of log lines that are published on `$SYS/broker/log/…`. Default: none, `log_dest topic` is off. */
  readonly logTypes?: readonly string[];
  readonly tls?: 'server' | 'mutual';
  /** Name in the server's certificate. Default `localhost`. */
  readonly tlsHost?: string;
  /** Adds a listener for MQTT over WebSocket. */
  readonly webSocket?: boolean;
  /** Seconds between `$SYS` updates. Default 1. */
  readonly sysInterval?: number;
  /** Further lines of mosquitto.conf. */
  readonly lines?: readonly string[];
  /** Where the program, its plugin and `mosquitto_ctrl` are searched. Default: PATH. */
  readonly searchPath?: string;
}

export const FOLLOWED_LOG = ['error', 'warning', 'notice', 'information', 'subscribe', 'unsubscribe'] as const;

interface Certificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface Mosquitto {
  readonly port: number;
  /** `mqtt://127.0.0.1:<port>`, or `mqtts://localhost:<port>` with TLS. */
  readonly url: string;
  readonly webSocketUrl: string;
  /** The authority and a client certificate; `null` without TLS. */
  readonly certificates: Certificates | null;
  /** Returns the file of the dynamic security plugin. */
  readAccessFile(): string;
  /** Replaces the file, as if restored from a backup. The process must be stopped. */
  writeAccessFile(text: string): void;
  start(): Promise<void>;
  stop(): Promise<void>;
  kill(): Promise<void>;
  /** Suspends the process with SIGSTOP. After `resume` it processes all data that arrived meanwhile in one batch. */
  suspend(): void;
  resume(): void;
  /** Connects an mqtt.js client, which is closed after the test. */
  client(options?: IClientOptions): Promise<MqttClient>;
}

export async function startMosquitto(options: MosquittoOptions = {}): Promise<Mosquitto> {
  const { access = 'anonymous', logTypes = [], tls, tlsHost = 'localhost', webSocket = false } = options;
  const { searchPath = usualPath() } = options;
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-mosquitto-'));
  const port = await freePort();
  const webSocketPort = webSocket ? await freePort() : 0;
  const certificates = tls ? makeCertificates(folder, tlsHost) : null;
  const config = [
    // Without this line, Mosquitto started as root changes to a user that cannot read the folder.
    'user root',
    `listener ${port} 127.0.0.1`,
    'set_tcp_nodelay true',
    `sys_interval ${options.sysInterval ?? 1}`,
    ...accessLines(access, folder, searchPath),
    ...(tls ? [`cafile ${folder}/ca.crt`, `certfile ${folder}/server.crt`, `keyfile ${folder}/server.key`] : []),
    ...(tls === 'mutual' ? ['require_certificate true'] : []),
    ...(webSocket ? [`listener ${webSocketPort} 127.0.0.1`, 'protocol websockets'] : []),
    ...sinceVersion({ '2.0.0': [], '2.1.0': ['enable_control_api true'] }, mosquittoVersion(searchPath)),
    'log_dest stderr',
    ...(logTypes.length > 0 ? ['log_dest topic', ...logTypes.map((type) => `log_type ${type}`)] : []),
    ...(options.lines ?? []),
  ];
  writeFileSync(join(folder, 'mosquitto.conf'), `${config.join('\n')}\n`);

  let running: ChildProcess | null = null;
  const end = async (signal: NodeJS.Signals) => {
    const child = running;
    running = null;
    if (!child || child.exitCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    // Mosquitto 2.0.11 ignores a SIGTERM between the log line that it listens and its event loop.
    const again = setInterval(() => child.kill(signal), 100);
    await exited;
    clearInterval(again);
  };
  const start = async () => {
    const { binary } = mosquittoProgram(searchPath);
    const child = spawn(binary, ['-c', join(folder, 'mosquitto.conf')], { stdio: ['ignore', 'ignore', 'pipe'] });
    running = child;
    let output = '';
    child.stderr.on('data', (data: Buffer) => {
      output = `${output}${data}`.slice(-4_000);
    });
    const died = once(child, 'exit').then(() => {
      throw new Error(`mosquitto ended: ${output}`);
    });
    died.catch(() => undefined);
    await Promise.race([accepts(port), died]);
  };
  onTestFinished(async () => {
    await end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  await start();

  const url = tls ? `mqtts://localhost:${port}` : `mqtt://127.0.0.1:${port}`;
  return {
    port,
    url,
    webSocketUrl: `ws://127.0.0.1:${webSocketPort}`,
    certificates,
    readAccessFile: () => readFileSync(join(folder, 'dynsec.json'), 'utf8'),
    writeAccessFile: (text) => writeFileSync(join(folder, 'dynsec.json'), text),
    start,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    suspend: () => void running?.kill('SIGSTOP'),
    resume: () => void running?.kill('SIGCONT'),
    client: (clientOptions = {}) =>
      startClient(url, access === 'anonymous' ? clientOptions : { ...ADMIN, ...clientOptions }),
  };
}

/** Connects an mqtt.js client, which is closed after the test. */
export async function startClient(url: string, options: IClientOptions = {}): Promise<MqttClient> {
  const { reconnectPeriod = 0 } = options;
  // With retries, `connectAsync` does not settle if the broker closes the connection without CONNACK.
  const client = await connectAsync(url, { ...options, reconnectPeriod }, reconnectPeriod > 0);
  // A client that the broker disconnects emits errors, which tests do not check.
  client.on('error', () => undefined);
  onTestFinished(async () => {
    await client.endAsync(true);
  });
  return client;
}

function accessLines(access: 'dynsec' | 'anonymous' | 'passwords', folder: string, searchPath: string): string[] {
  if (access === 'anonymous') return ['allow_anonymous true'];
  const path = join(folder, access === 'dynsec' ? 'dynsec.json' : 'passwords');
  writeFileSync(path, accessFile(access, searchPath));
  if (access === 'passwords') return ['allow_anonymous false', `password_file ${path}`];
  return ['allow_anonymous false', `plugin ${mosquittoProgram(searchPath).plugin}`, `plugin_opt_config_file ${path}`];
}

const accessFiles = new Map<string, Buffer>();

/** Returns the file with ADMIN, which the programs of this Mosquitto write once for all tests of this process. */
function accessFile(access: 'dynsec' | 'passwords', searchPath: string): Buffer {
  const key = `${access} ${searchPath}`;
  const known = accessFiles.get(key);
  if (known) return known;
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-mosquitto-'));
  const path = join(folder, 'file');
  const settings = { stdio: 'ignore', env: { ...process.env, PATH: searchPath } } as const;
  const { username, password } = ADMIN;
  if (access === 'dynsec') execFileSync('mosquitto_ctrl', ['dynsec', 'init', path, username, password], settings);
  else execFileSync('mosquitto_passwd', ['-b', '-c', path, username, password], settings);
  const file = readFileSync(path);
  rmSync(folder, { recursive: true });
  accessFiles.set(key, file);
  return file;
}

/** Creates an authority, a server certificate for `host` and a client certificate. */
function makeCertificates(folder: string, host: string): Certificates {
  const authority = createAuthority();
  const server = authority.issue({ name: host, altNames: [`DNS:${host}`] });
  const { cert, key } = authority.issue({ name: 'test client', altNames: [] });
  const files = { 'ca.crt': authority.cert, 'server.crt': server.cert, 'server.key': server.key };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return { ca: authority.cert, cert, key };
}

/** Payloads on a topic, as they come. */
export async function heard(client: MqttClient, topic: string): Promise<string[]> {
  const payloads: string[] = [];
  client.on('message', (name, payload) => name === topic && payloads.push(payload.toString()));
  await client.subscribeAsync(topic, { qos: 1 });
  return payloads;
}

/** Polls until the port accepts connections. Mosquitto sends no other notification. */
export async function accepts(port: number): Promise<void> {
  for (;;) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = dial(port, '127.0.0.1');
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
