import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ListenerWanted, RunningState } from '../../../src/domains/brokers/broker-engine.ts';
import { type MosquittoBrokerOptions, startMosquittoBroker } from '../../../src/engines/mosquitto/mosquitto-broker.ts';
import { findMosquitto, type MosquittoProgram } from '../../../src/engines/mosquitto/mosquitto-program.ts';
import { freePort } from '../../support/free-port.ts';
import { startClient } from '../../support/mosquitto.ts';

const ADMINISTRATOR = { username: 'admin', password: 'a secret' } as const;
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

function program(): MosquittoProgram {
  const found = findMosquitto({ binary: undefined, plugin: undefined, searchPath: process.env.PATH ?? '' });
  if (typeof found === 'string') throw new Error(found);
  return found;
}

const listener = (wanted: Partial<ListenerWanted> = {}): ListenerWanted => ({
  number: 1,
  protocol: 'MQTT',
  host: '127.0.0.1',
  port: 0,
  tls: false,
  requireCertificate: false,
  ...wanted,
});

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-mosquitto-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

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
    program: program(),
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

test('a damaged access file is never replaced by a new one', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'dynamic-security.json'), '{"clients": [');
  await expect(start({ folder })).rejects.toThrow('is damaged');
  expect(readFileSync(join(folder, 'dynamic-security.json'), 'utf8')).toBe('{"clients": [');
});

test('a port in use is replaced by the next free one, and a later failure to listen is reported', async () => {
  const taken = createServer();
  const port = await freePort();
  await new Promise<void>((resolve) => taken.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => void taken.close());
  const reasons: string[] = [];
  const { until, onState } = stateTrail();
  const folder = temporaryFolder();
  const { broker } = await start({
    folder,
    listeners: [listener({ port }), listener({ number: 2, port, protocol: 'WEBSOCKET' })],
    onState: (state, error) => {
      if (error !== undefined) reasons.push(error);
      onState(state);
    },
  });
  const [mqtt, ws] = broker.listeners.map((one) => one.port);
  expect([mqtt, ws]).not.toContain(port);
  expect(mqtt).not.toBe(ws);
  expect(mqtt).toBeGreaterThan(0);
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
