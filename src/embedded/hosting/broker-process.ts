import { type ChildProcess, fork } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endLeftOver } from '../../hosting/left-over.ts';
import type { WorkerMessage } from '../worker-protocol.ts';
import type { BrokerHost, HostEnd, HostOptions } from './broker-host.ts';

/** Has the number of the process as long as it runs, and is what its command line names, so that it is known again. */
const PID_FILE = 'broker.pid';
/** Of what it wrote before it ended, in characters. */
const MAX_OUTPUT = 4_000;
/** What Node, OpenSSL and the C library are told by; nothing else of the environment is any of its business. */
const VARIABLES = [
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'MALLOC_MMAP_THRESHOLD_',
  'MALLOC_ARENA_MAX',
];

/**
 * Runs an embedded broker in a process of its own. What it is told comes by messages: command lines and environments can be read by others.
 * It ends with this process, however that ends.
 */
export function startBrokerProcess({ workerUrl, options, maxHeapMegabytes, onMessage }: HostOptions): BrokerHost {
  const pidFile = pidFileIn(options.folder);
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  const child = fork(fileURLToPath(workerUrl), [pidFile], {
    env: Object.fromEntries(VARIABLES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
    // As for a thread; see there.
    execArgv: [`--max-old-space-size=${maxHeapMegabytes}`, '--max-semi-space-size=8'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    // A Ctrl-C for this service would end it, too, and look like a crash.
    detached: true,
  });
  const ended = endOf(child);
  void ended.then(() => rmSync(pidFile, { force: true }));
  child.on('message', (message: WorkerMessage) => onMessage(message));
  const host: BrokerHost = {
    pid: child.pid ?? null,
    ended,
    // It may end in this very moment.
    send: (message) => void (child.connected && child.send(message, () => undefined)),
    terminate: () => void child.kill('SIGKILL'),
  };
  // At once: a service that is killed now must find it again.
  if (child.pid !== undefined) writeFileSync(pidFile, String(child.pid), { mode: 0o600 });
  host.send({ type: 'start', options });
  return host;
}

/** Ends what runs in the folder of a broker although no service does; answers whether there was something. */
export function endLeftProcess(folder: string): Promise<boolean> {
  const pidFile = pidFileIn(folder);
  return endLeftOver(pidFile, (argv) => argv.includes(pidFile));
}

const pidFileIn = (folder: string) => join(resolve(folder), PID_FILE);

function endOf(child: ChildProcess): Promise<HostEnd> {
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output = `${output}${text}`.slice(-MAX_OUTPUT);
  });
  return new Promise((resolve) => {
    child.once('error', ({ message }) => {
      if (child.pid === undefined) resolve({ reason: message, output, stack: '' });
    });
    child.once('close', (code, signal) => {
      const how = signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
      // As V8 says when there is no memory left: what follows is its stack.
      const fatal = /^FATAL ERROR: (.*)$/m.exec(output)?.[1];
      resolve({ reason: [`the broker's process ${how}`, ...(fatal ? [fatal] : [])].join(': '), output, stack: '' });
    });
  });
}
