import { spawn } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type MosquittoBrokerOptions, startMosquittoBroker } from '../../../src/engines/mosquitto/mosquitto-broker.ts';
import { findMosquitto, type MosquittoProgram } from '../../../src/engines/mosquitto/mosquitto-program.ts';
import { configurationRefusal } from '../../../src/engines/mosquitto/mosquitto-version.ts';
import type { ListenerWanted, RunningState } from '../../../src/protocol/hosting/broker-engine.ts';
import { freePort } from '../../support/free-port.ts';
import { mosquittoProgram, mosquittoVersion, sinceVersion, startClient } from '../../support/mosquitto.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const ADMINISTRATOR = { username: 'admin', password: 'a secret' } as const;
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

const listener = (wanted: Partial<ListenerWanted> = {}): ListenerWanted => ({
  number: 1,
  protocol: 'MQTT',
  host: '127.0.0.1',
  port: 0,
  tls: false,
  requireCertificate: false,
  ...wanted,
});

/** The reported states; `until` resolves when a state was reported that often. */
function stateTrail() {
  const trail: RunningState[] = [];
  const waiting: { readonly state: RunningState; readonly times: number; readonly resolve: () => void }[] = [];
  const count = (state: RunningState) => trail.filter((one) => one === state).length;
  return {
    trail,
    onState: (state: RunningState) => {
      trail.push(state);
      for (const wait of waiting) if (count(wait.state) >= wait.times) wait.resolve();
    },
    until: (state: RunningState, times = 1) =>
      new Promise<void>((resolve) => {
        if (count(state) >= times) resolve();
        else waiting.push({ state, times, resolve });
      }),
  };
}

async function start(options: Partial<MosquittoBrokerOptions> = {}) {
  const broker = await startMosquittoBroker({
    id: 'test',
    folder: options.folder ?? temporaryFolder(),
    listeners: [listener()],
    administrator: ADMINISTRATOR,
    program: mosquittoProgram(),
    log: silent,
    ...options,
  });
  onTestFinished(() => broker.close());
  return { broker, url: `mqtt://127.0.0.1:${broker.listeners[0]?.port}` };
}

const pidIn = (folder: string) => Number(readFileSync(join(folder, 'mosquitto.pid'), 'utf8'));

test('what is kept by a Mosquitto that is killed is there when it has come back by itself, on the same port', async () => {
  const folder = temporaryFolder();
  const { trail, onState, until } = stateTrail();
  const { broker, url } = await start({ folder, onState });
  expect(statSync(folder).mode & 0o077).toBe(0);
  expect(statSync(join(folder, 'dynamic-security.json')).mode & 0o077).toBe(0);
  const client = await startClient(url, { ...ADMINISTRATOR, protocolVersion: 5 });
  await client.publishAsync('kept', 'yes', { qos: 1, retain: true });
  // What it holds in memory it writes when it is asked to end; a later kill loses nothing more of that.
  await broker.restart();
  process.kill(pidIn(folder), 'SIGKILL');
  await until('RUNNING', 3);
  expect(trail).toEqual(['STARTING', 'RUNNING', 'STARTING', 'RUNNING', 'FAILED', 'STARTING', 'RUNNING']);
  const back = await startClient(url, { ...ADMINISTRATOR, protocolVersion: 5 });
  const kept = new Promise<string>((resolve) => back.on('message', (_topic, payload) => resolve(payload.toString())));
  await back.subscribeAsync('kept');
  expect(await kept).toBe('yes');
  await expect(startClient(url, { username: 'admin', password: 'wrong' })).rejects.toThrow('Not authorized');
  await broker.close();
  expect(trail.at(-1)).toBe('STOPPED');
});

test('a process that hangs is restarted, and the reason is reported', async () => {
  const folder = temporaryFolder();
  const reasons: (string | undefined)[] = [];
  const { until, onState } = stateTrail();
  const { url } = await start({
    folder,
    pingMs: 300,
    onState: (state, error) => {
      reasons.push(error);
      onState(state);
    },
  });
  const pid = pidIn(folder);
  process.kill(pid, 'SIGSTOP');
  await until('FAILED');
  expect(reasons.at(-1)).toBe('Mosquitto answered nothing for 1.2 s, and was ended');
  await until('RUNNING', 2);
  expect(pidIn(folder)).not.toBe(pid);
  await startClient(url, ADMINISTRATOR);
});

test('accounts stay, and the administrator is there again with the password of now', async () => {
  const folder = temporaryFolder();
  const first = await start({ folder });
  await first.broker.close();
  const file = join(folder, 'dynamic-security.json');
  const kept = JSON.parse(readFileSync(file, 'utf8'));
  kept.clients = [{ username: 'meter', roles: [] }];
  kept.roles[0].acls = [{ acltype: 'publishClientSend', topic: '#', priority: 3, allow: false }];
  writeFileSync(file, JSON.stringify(kept));
  const { url } = await start({ folder, administrator: { username: 'admin', password: 'another' } });
  const client = await startClient(url, { username: 'admin', password: 'another', protocolVersion: 5 });
  await client.publishAsync('allowed', 'again', { qos: 1 });
  await client.subscribeAsync('$share/group/allowed');
  expect(JSON.parse(readFileSync(file, 'utf8')).clients).toMatchObject([{ username: 'meter' }, { username: 'admin' }]);
});

/** Installs a Mosquitto in a folder of its own: `sbin/mosquitto`, and the plugin in `library`. */
function installed(library: string, program = mosquittoProgram()): MosquittoProgram {
  const prefix = temporaryFolder();
  const there = {
    binary: join(prefix, 'sbin/mosquitto'),
    plugin: join(prefix, library, 'mosquitto_dynamic_security.so'),
  };
  for (const part of ['binary', 'plugin'] as const) {
    mkdirSync(dirname(there[part]), { recursive: true });
    copyFileSync(program[part], there[part]);
  }
  return there;
}

test('the plugin is the one that was installed with the program, also behind a link and in lib64', async () => {
  const there = installed('lib64');
  const link = join(temporaryFolder(), 'mosquitto');
  symlinkSync(there.binary, link);
  const found = findMosquitto({ binary: link, plugin: undefined, searchPath: '' });
  expect(found).toEqual({ binary: link, plugin: there.plugin });
  const { url } = await start({ program: found as MosquittoProgram });
  await startClient(url, ADMINISTRATOR);
});

test('a plugin of another version is refused, with both versions', async () => {
  const program = mosquittoProgram();
  const version = mosquittoVersion();
  // Mosquitto 2.0 loads plugins of other versions of 2.0, and 2.1 those of 2.0.
  const other = installed('lib/x86_64-linux-gnu');
  writeFileSync(other.binary, '#!/bin/sh\necho mosquitto version 2.0.99\n', { mode: 0o755 });
  await expect(start({ program: { ...program, plugin: other.plugin } })).rejects.toThrow(
    `${program.binary} is Mosquitto ${version}, but ${other.plugin} is a plugin of Mosquitto 2.0.99`,
  );
  // Where no program is next to the plugin, it is known whether it is one of 2.0.
  rmSync(other.binary);
  const { broker } = await start({ program: { ...program, plugin: other.plugin } });
  await broker.close();
  writeFileSync(other.plugin, sinceVersion({ '2.0.0': 'mosquitto_plugin_set_info', '2.1.0': '' }));
  const series = sinceVersion({ '2.0.0': '2.1 or newer', '2.1.0': '2.0' });
  await expect(start({ program: { ...program, plugin: other.plugin } })).rejects.toThrow(
    `Mosquitto ${version}, but ${other.plugin} is a plugin of Mosquitto ${series}`,
  );
  await expect(start({ program: { ...program, binary: '/bin/true' } })).rejects.toThrow('/bin/true does not print');
});

test('the configuration has no option that the version calls deprecated, and what the version can test is tested', async () => {
  const folder = temporaryFolder();
  const { broker } = await start({ folder, listeners: [listener(), listener({ number: 2, protocol: 'WEBSOCKET' })] });
  expect(await broker.configurationRefusal()).toBeNull();
  await broker.close();
  const { binary } = mosquittoProgram();
  const file = join(folder, 'mosquitto.conf');
  const child = spawn(binary, ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let log = '';
  for await (const data of child.stderr.setEncoding('utf8')) {
    log += data;
    if (/version \S+ running/.test(log)) break;
  }
  expect(log).not.toMatch(/deprecated|no longer|will be removed/);
  writeFileSync(file, 'no_such_option 1\n');
  expect(await configurationRefusal(binary, mosquittoVersion(), file)).toEqual(
    sinceVersion({ '2.0.0': null, '2.1.0': expect.stringContaining('no_such_option') }),
  );
});

test('a setting that the version lacks ends the start with the reason', async () => {
  const starting = start({ listeners: [listener(), listener({ number: 2, proxyProtocol: 1 })] }).then(
    () => null,
    (error: Error) => error.message,
  );
  expect(await starting).toEqual(
    sinceVersion({
      '2.0.0': expect.stringMatching(/^Mosquitto 2.* lacks .*: listeners.1.proxyProtocol$/),
      '2.1.0': null,
    }),
  );
});

test('a damaged access file is never replaced by a new one', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'dynamic-security.json'), '{"clients": [');
  await expect(start({ folder })).rejects.toThrow('is damaged');
  expect(readFileSync(join(folder, 'dynamic-security.json'), 'utf8')).toBe('{"clients": [');
});

test('a port in use is refused with its holder, and a later failure to start is reported', async () => {
  const taken = createServer();
  const port = await freePort();
  await new Promise<void>((resolve) => taken.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => void taken.close());
  const listeners = [listener({ port }), listener({ number: 2, port: 0, protocol: 'WEBSOCKET' })];
  await expect(start({ folder: temporaryFolder(), listeners })).rejects.toThrow(`port ${port} is in use by `);
  await new Promise((resolve) => taken.close(resolve));
  const reasons: string[] = [];
  const { until, onState } = stateTrail();
  const folder = temporaryFolder();
  const { broker } = await start({
    folder,
    listeners,
    onState: (state, error) => {
      if (error !== undefined) reasons.push(error);
      onState(state);
    },
  });
  const [mqtt, ws] = broker.listeners.map((one) => one.port);
  expect(mqtt).toBe(port);
  expect(ws).toBeGreaterThan(0);
  await startClient(`ws://127.0.0.1:${ws}`, ADMINISTRATOR);
  // The file that says who may connect is taken away, as by a mistake of an operator.
  writeFileSync(join(folder, 'dynamic-security.json'), 'nonsense');
  process.kill(pidIn(folder), 'SIGKILL');
  await until('FAILED', 2);
  expect(reasons[0]).toBe('Mosquitto was ended by SIGKILL');
  expect(reasons[1]).toContain('is damaged');
});

test('a folder in which nothing can be written is a failure like others: no process is left, and it runs when it can be', async () => {
  const folder = temporaryFolder();
  const pidFile = join(folder, 'mosquitto.pid');
  const reasons: string[] = [];
  const { until, onState } = stateTrail();
  await start({
    folder,
    onState: (state, error) => {
      if (error !== undefined) reasons.push(error);
      onState(state);
    },
  });
  const pid = pidIn(folder);
  // File modes do not stop root from writing. A folder in place of the file does.
  rmSync(pidFile);
  mkdirSync(pidFile);
  process.kill(pid, 'SIGKILL');
  await until('FAILED', 2);
  expect(reasons).toEqual(['Mosquitto was ended by SIGKILL', expect.stringContaining('EISDIR')]);
  rmdirSync(pidFile);
  await until('RUNNING', 2);
  expect(pidIn(folder)).not.toBe(pid);
});

test('a process that only bears the number of one that was left over is let be, and a broker that is closed ends its own', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'mosquitto.pid'), String(process.pid));
  const { broker } = await start({ folder });
  const pid = pidIn(folder);
  expect(pid).not.toBe(process.pid);
  await broker.close();
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});
