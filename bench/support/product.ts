/** Starts the product in its own process, on free ports. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { watch } from './watchdog.ts';

/** run.mjs runs benchmarks in the root of the project. */
const ROOT = process.cwd();
const ROOT_PASSWORD = 'correct horse battery';

export interface Product {
  readonly process: ChildProcess;
  readonly url: string;
  readonly mqttPort: number;
  /** Password of the embedded broker's administrator. */
  readonly mqttPassword: string;
  /** Time from the command to the start message. */
  readonly readyMs: number;
  /** Session token of the root administrator. */
  login(): Promise<string>;
  close(): Promise<void>;
}

/** The default command. */
export const SERVE = [process.execPath, join(ROOT, 'dist/main.js'), 'serve'];

export async function startProduct(dataDir: string, [program = '', ...args] = SERVE): Promise<Product> {
  if (!existsSync(join(ROOT, 'dist/main.js'))) throw new Error('run `npm run build` first');
  const startedAt = performance.now();
  const child = spawn(program, args, {
    cwd: ROOT,
    env: {
      ...process.env,
      PORT: '0',
      MQTT_PORT: '0',
      MQTT_WS_PORT: '0',
      MQTT_TLS_PORT: 'off',
      DATA_DIR: dataDir,
      LOG_LEVEL: 'error',
      ROOT_PASSWORD,
    },
    // The fourth channel is for reports of a module that is preloaded with `--import`.
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    // A separate process group, so that all child processes of `npm start` can be stopped.
    detached: true,
  });
  const exit = once(child, 'exit');
  const callOff = child.pid === undefined ? () => undefined : watch(child.pid);
  // Also if the process exits by itself, because its process id may be reused.
  child.once('exit', callOff);
  const message = await startMessage(child);
  const readyMs = performance.now() - startedAt;
  const { url, mqtt } = JSON.parse(message);
  return {
    process: child,
    url,
    mqttPort: Number(new URL(mqtt.url).port),
    mqttPassword: readFileSync(resolve(ROOT, mqtt.passwordFile), 'utf8').trim(),
    readyMs,
    async login() {
      const query = 'mutation ($input: LoginInput!) { login(input: $input) { token } }';
      const input = { email: 'admin@localhost', password: ROOT_PASSWORD };
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query, variables: { input } }),
      });
      const { data } = (await response.json()) as { data: { login: { token: string } } };
      return data.login.token;
    },
    async close() {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
      await exit;
    },
  };
}

function startMessage(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (chunk) => {
      text += chunk;
      if (/is ready"}\n/.test(text)) resolve(text);
    });
    child.once('exit', () => reject(new Error(`The product did not start: ${text}`)));
  });
}
