import { createConnection, type Socket } from 'node:net';
import { parser as createParser, generate } from 'mqtt-packet';
import { expect, onTestFinished, test } from 'vitest';
import {
  ACCOUNT_COST,
  hashPassword,
  PasswordCheck,
} from '../../../src/data-plane/broker/dynamic-security/password-check.ts';
import { connect, control, startTestBroker, type TestBroker } from './embedded.ts';

const RATE_EXCEEDED = 0x9f;
const SERVER_UNAVAILABLE = 3;
const NOT_AUTHORIZED = 5;

interface LogIn {
  readonly username: string;
  readonly password: string;
  /** Of loopback: each is a network. Default: 127.0.0.1. */
  readonly from?: string;
  readonly protocolVersion?: 4 | 5;
}

/** The code of CONNACK; 0: the client was let in. */
async function logIn(port: number, { username, password, from = '127.0.0.1', protocolVersion = 4 }: LogIn) {
  const socket = createConnection({ port, host: '127.0.0.1', localAddress: from });
  socket.on('error', () => {});
  const about = { protocolId: 'MQTT', protocolVersion, clean: true, keepalive: 0 } as const;
  const clientId = crypto.randomUUID();
  socket.write(
    generate({ cmd: 'connect', clientId, username, password: Buffer.from(password), ...about }, { protocolVersion }),
  );
  try {
    return await codeFrom(socket, protocolVersion);
  } finally {
    socket.destroy();
  }
}

function codeFrom(socket: Socket, protocolVersion: 4 | 5): Promise<number> {
  const parser = createParser({ protocolVersion });
  return new Promise((resolve) => {
    socket.on('data', (chunk) => parser.parse(chunk));
    socket.on('close', () => resolve(-1));
    parser.on('packet', (packet) => {
      if (packet.cmd === 'connack') resolve(packet.reasonCode ?? packet.returnCode ?? -1);
    });
  });
}

async function startWithAccounts(...usernames: string[]): Promise<TestBroker> {
  const broker = await startTestBroker();
  const admin = await connect(broker.mqttPort);
  const commands = usernames.map((username) => ({ command: 'createClient', username, password: 'right' }));
  await control(admin, 'dynamic-security', { commands });
  return broker;
}

const countOf = (codes: readonly number[], code: number) => codes.filter((each) => each === code).length;

test('guesses at an account are throttled for their network, before they are hashed, and for no other account or network', async () => {
  const { mqttPort } = await startWithAccounts('dev', 'other');
  const from = '127.0.0.2';
  const startedAt = performance.now();

  const guesses = Array.from({ length: 300 }, (_, n) => ({ username: 'dev', password: `guess ${n}`, from }));
  const codes = (await Promise.all(guesses.map((guess) => logIn(mqttPort, guess)))) as readonly number[];

  // Each second of the wait lets another guess in.
  const seconds = Math.ceil((performance.now() - startedAt) / 1_000);
  expect(countOf(codes, NOT_AUTHORIZED)).toBeGreaterThanOrEqual(20);
  expect(countOf(codes, NOT_AUTHORIZED)).toBeLessThanOrEqual(22 + seconds);
  expect(countOf(codes, NOT_AUTHORIZED) + countOf(codes, SERVER_UNAVAILABLE)).toBe(300);
  // Its wait may have ended meanwhile. Each further guess doubles it.
  let more = 0;
  const again = () => logIn(mqttPort, { username: 'dev', password: `more ${more++}`, from, protocolVersion: 5 });
  await expect.poll(again).toBe(RATE_EXCEEDED);
  expect(await logIn(mqttPort, { username: 'other', password: 'right', from })).toBe(0);
  expect(await logIn(mqttPort, { username: 'dev', password: 'right', from: '127.0.0.3' })).toBe(0);
  // Known to be right, so it needs no hash.
  expect(await logIn(mqttPort, { username: 'dev', password: 'right', from })).toBe(0);
});

test('a new account is admitted during a flood of wrong passwords, after a few checks of others', async () => {
  const { mqttPort } = await startWithAccounts('dev');
  let isOver = false;
  let checked = 0;
  const attacker = async (n: number) => {
    for (let turn = 0; !isOver; turn += 1) {
      const code = await logIn(mqttPort, { username: 'admin', password: `guess ${n} ${turn}` });
      if (code === NOT_AUTHORIZED) checked += 1;
    }
  };
  onTestFinished(() => {
    isOver = true;
  });
  const attackers = Array.from({ length: 300 }, (_, n) => attacker(n));
  await expect.poll(() => checked).toBeGreaterThan(1);

  const before = checked;
  expect(await logIn(mqttPort, { username: 'dev', password: 'right' })).toBe(0);
  expect(checked - before).toBeLessThan(60);

  isOver = true;
  await Promise.all(attackers);
});

test('devices with an outdated password do not lock out devices with the new one', async () => {
  const { mqttPort } = await startWithAccounts('dev');
  for (let n = 0; n < 10; n += 1) {
    const codes = await Promise.all(
      Array.from({ length: 20 }, () => logIn(mqttPort, { username: 'dev', password: 'old' })),
    );
    expect(countOf(codes, NOT_AUTHORIZED)).toBe(20);
  }
  expect(await logIn(mqttPort, { username: 'dev', password: 'right' })).toBe(0);
});

test('a site of devices behind one address is not throttled by a few misconfigured devices', async () => {
  const usernames = Array.from({ length: 30 }, (_, n) => `dev-${n}`);
  const { mqttPort } = await startWithAccounts(...usernames);
  for (const username of usernames) {
    for (let n = 0; n < 19; n += 1) await logIn(mqttPort, { username, password: `wrong ${n}` });
  }
  for (const username of usernames) expect(await logIn(mqttPort, { username, password: 'right' })).toBe(0);
});

test('passwords of disconnected clients are not checked, and networks take turns', async () => {
  const passwords = new PasswordCheck();
  const hash = await hashPassword('right', ACCOUNT_COST);
  const attempt = (password: string, network: string) => ({
    username: password,
    password: Buffer.from(password),
    hash,
    network,
  });
  const turns: string[] = [];
  const check = async (password: string, network: string) => {
    const isWanted = () => {
      turns.push(network);
      return !password.startsWith('gone');
    };
    const { verdict } = await passwords.check({ ...attempt(password, network), isWanted });
    return verdict;
  };

  const many = Array.from({ length: 20 }, (_, n) => check(`guess ${n}`, 'a'));
  const gone = Array.from({ length: 20 }, (_, n) => check(`gone ${n}`, 'a'));
  expect(await check('right', 'b')).toBe('RIGHT');

  expect(await Promise.all(many)).toEqual(Array(20).fill('WRONG'));
  expect(await Promise.all(gone)).toEqual(Array(20).fill('BUSY'));
  expect(passwords.hashed).toBe(21);
  // The first two started at once; of those that waited, network b is next after one of network a.
  expect(turns.slice(0, 3)).toEqual(['a', 'b', 'a']);
});

test('equal attempts share one check, also those of several networks', async () => {
  const passwords = new PasswordCheck();
  const hash = await hashPassword('right', ACCOUNT_COST);
  const attempt = { username: 'dev', password: Buffer.from('wrong'), hash };
  const results = await Promise.all(
    ['a', 'a', 'b', 'b', 'c'].map((network) => passwords.check({ ...attempt, network })),
  );
  expect(results.map(({ verdict }) => verdict)).toEqual(Array(5).fill('WRONG'));
  expect(results.filter(({ isNew }) => isNew)).toHaveLength(1);
  expect(passwords.hashed).toBe(1);
});
