import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import mqtt from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import type { RunningState } from '../../src/brokers/broker-engine.ts';
import { workerUrl } from '../support/workers.ts';
import { ADMINISTRATOR, collect, connect, listener, startTestBroker, temporaryFolder } from './embedded.ts';

const pidIn = (folder: string) => Number(readFileSync(join(folder, 'broker.pid'), 'utf8'));

const isThere = (pid: number) => existsSync(`/proc/${pid}/exe`);

/** What it told of its states, and how to wait for one. */
function stateLog() {
  const states: { readonly state: RunningState; readonly error: string | undefined }[] = [];
  let check = () => {};
  const onState = (state: RunningState, error?: string) => {
    states.push({ state, error });
    check();
  };
  const times = (state: RunningState, count: number) =>
    new Promise<void>((resolve) => {
      check = () => {
        if (states.filter((one) => one.state === state).length >= count) resolve();
      };
      check();
    });
  return { states, onState, times };
}

test('killed, it is started again on the same port with all that was acknowledged; closed, nothing of it is left', async () => {
  const folder = join(temporaryFolder(), 'broker');
  const log = stateLog();
  const broker = await startTestBroker({ folder, ownProcess: true, onState: log.onState });
  const pid = pidIn(folder);
  expect(pid).not.toBe(process.pid);
  const device = await connect(broker.mqttPort, { clientId: 'device', clean: false });
  await device.subscribeAsync('a', { qos: 1 });
  await device.endAsync();
  const publisher = await connect(broker.mqttPort);
  for (let index = 0; index < 20; index += 1) await publisher.publishAsync('a', String(index), { qos: 1 });

  process.kill(pid, 'SIGKILL');
  await log.times('RUNNING', 2);
  expect(log.states.map(({ state }) => state)).toEqual(['STARTING', 'RUNNING', 'FAILED', 'STARTING', 'RUNNING']);
  expect(log.states[2]?.error).toMatch(/SIGKILL/);
  expect(pidIn(folder)).not.toBe(pid);
  const url = `mqtt://127.0.0.1:${broker.mqttPort}`;
  const back = mqtt.connect(url, { ...ADMINISTRATOR, clientId: 'device', clean: false, protocolVersion: 4 });
  onTestFinished(() => back.endAsync(true).then(() => {}));
  const { until } = collect(back);
  const seen = await until((messages) => messages.length === 20);
  expect(seen.map(({ text }) => text)).toEqual(Array.from({ length: 20 }, (_, index) => String(index)));

  const second = pidIn(folder);
  await broker.close();
  expect(log.states.at(-1)?.state).toBe('STOPPED');
  expect(existsSync(join(folder, 'broker.pid'))).toBe(false);
  expect(isThere(second)).toBe(false);
});

test('what it is started with is in no command line and in no environment', async () => {
  const folder = temporaryFolder();
  process.env.PLANTED_SECRET = 'a-secret-of-the-service';
  onTestFinished(() => void delete process.env.PLANTED_SECRET);
  await startTestBroker({ folder, ownProcess: true });
  for (const file of ['cmdline', 'environ']) {
    const text = readFileSync(`/proc/${pidIn(folder)}/${file}`, 'utf8');
    expect(text).not.toContain(ADMINISTRATOR.password);
    expect(text).not.toContain('a-secret-of-the-service');
  }
});

test('memory beyond its limit ends it, with the reason', async () => {
  const errors: object[] = [];
  const log = { info: () => {}, warn: () => {}, error: (fields: object) => void errors.push(fields) };
  await expect(startTestBroker({ ownProcess: true, maxHeapMegabytes: 4, log })).rejects.toThrow(/heap/);
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatchObject({ reason: expect.stringMatching(/heap/), output: expect.stringMatching(/./) });
});

test('why it cannot start is told, and what it told before', async () => {
  const folder = join(temporaryFolder(), 'file');
  writeFileSync(folder, 'no folder');
  await expect(startTestBroker({ folder, ownProcess: true })).rejects.toThrow(/EEXIST|ENOTDIR/);
  const taken = temporaryFolder();
  await startTestBroker({ folder: taken });
  await expect(startTestBroker({ folder: taken, ownProcess: true })).rejects.toThrow(/did not start: .*locked/);
});

test('it ends with the service that started it, also when that is killed', async () => {
  const folder = temporaryFolder();
  const args = [folder, JSON.stringify([listener()]), workerUrl('embedded/worker.js').href, 'own-process'];
  const service = fork(new URL('./broker-process.mjs', import.meta.url), args, { execArgv: [] });
  const [listeners] = await once(service, 'message');
  const pid = pidIn(folder);
  expect(isThere(pid)).toBe(true);
  service.kill('SIGKILL');
  // Nobody here is told of the end of somebody else's child.
  await expect.poll(() => isThere(pid)).toBe(false);
  const broker = await startTestBroker({ folder, listeners });
  expect(broker.mqttPort).toBe(listeners[0].port);
});

test('one that a service left is ended before the next one starts, and no other process', async () => {
  const folder = temporaryFolder();
  const pidFile = join(folder, 'broker.pid');
  const idle = ['-e', 'setInterval(() => {}, 1_000)'];
  const other = spawn(process.execPath, idle);
  onTestFinished(() => void other.kill('SIGKILL'));
  const left = spawn(process.execPath, [...idle, pidFile]);
  const ended = once(left, 'exit');
  await Promise.all([once(other, 'spawn'), once(left, 'spawn')]);

  writeFileSync(pidFile, String(left.pid));
  const broker = await startTestBroker({ folder });
  await ended;
  await broker.close();

  writeFileSync(pidFile, String(other.pid));
  await startTestBroker({ folder });
  expect(other.exitCode).toBeNull();
  expect(existsSync(pidFile)).toBe(false);
});
