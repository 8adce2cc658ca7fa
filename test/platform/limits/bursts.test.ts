import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { AuthService } from '../../../src/platform/auth/auth-service.ts';
import { LoginAttempts } from '../../../src/platform/auth/login-attempts.ts';
import { NetworkQueue } from '../../../src/platform/auth/network-queue.ts';
import { newSecret } from '../../../src/platform/auth/secrets.ts';
import { Bursts } from '../../../src/platform/limits/bursts.ts';
import type { Database } from '../../../src/platform/storage/database.ts';
import { startTestService } from '../../support/service.ts';

interface Line {
  readonly msg: string;
  readonly address?: string;
  readonly userId?: string;
  readonly count: number;
}

function logOf() {
  const lines: Line[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { log, lines };
}

const queue = new NetworkQueue({ maxRunning: 2, maxWaiting: 10 });
const queues = { strangers: queue, trusted: queue };
const noneKnown = { isKnown: async () => false };
const guess = (attempts: LoginAttempts, account: string, address: string, userId: string | null = null) =>
  attempts.run({ account, userId, address }, queues, async () => false).catch(() => false);

test('guesses of a caller are logged once at the start, and once with their number at the end', async () => {
  const { log, lines } = logOf();
  const attempts = new LoginAttempts({ log, known: noneKnown });
  for (let i = 0; i < 40; i++) await guess(attempts, i % 2 ? 'ann@example.com' : `p${i}@example.com`, '192.0.2.1');
  // A few typing errors are no burst.
  for (let i = 0; i < 3; i++) await guess(attempts, 'bob@example.com', '192.0.2.2');
  expect(lines).toMatchObject([{ msg: expect.stringContaining('failing'), address: '192.0.2.1', count: 5 }]);
  attempts.close();
  expect(lines.slice(1)).toMatchObject([{ address: '192.0.2.1', count: 40 }]);
});

test('guesses of many callers at one account are one burst, and the entered name is not logged', async () => {
  const { log, lines } = logOf();
  const attempts = new LoginAttempts({ log, known: noneKnown });
  for (let i = 0; i < 30; i++) await guess(attempts, 'ann@example.com', `192.0.2.${i}`, 'usr_ann');
  for (let i = 0; i < 30; i++) await guess(attempts, 'my secret in the wrong place', `198.51.100.${i}`);
  attempts.close();
  expect(lines.map(({ userId, address, count }) => [userId, address, count])).toEqual([
    ['usr_ann', undefined, 5],
    [undefined, undefined, 5],
    ['usr_ann', undefined, 30],
    [undefined, undefined, 30],
  ]);
  expect(JSON.stringify(lines)).not.toContain('secret');
});

test('a burst ends after a quiet time, and the next one is reported again', async () => {
  const ends: number[] = [];
  let ended = () => {};
  const bursts = new Bursts<string>({
    from: 2,
    quietMs: 1,
    onBegin: () => {},
    onEnd: (_who, count) => {
      ends.push(count);
      ended();
    },
  });
  for (const times of [3, 4]) {
    const over = new Promise<void>((done) => {
      ended = done;
    });
    for (let i = 0; i < times; i++) bursts.add('a', 'a');
    await over;
  }
  expect(ends).toEqual([3, 4]);
});

test('beyond the maximum number of bursts the quietest one ends', () => {
  const ends: string[] = [];
  const bursts = new Bursts<string>({
    from: 2,
    onBegin: () => {},
    onEnd: (who, count) => ends.push(`${who} ${count}`),
  });
  for (const who of ['first', 'first', 'second']) bursts.add(who, who);
  for (let i = 0; i < 999; i++) bursts.add(`${i}`, `${i}`);
  expect(ends).toEqual(['first 2']);
  bursts.close();
});

test('an unknown secret is looked up once, and a flood of them is limited and logged once', async () => {
  const { storage } = await startTestService();
  const counter = { reads: 0, now: 0, most: 0 };
  const count = async ({ args, query }: { args: object; query: (args: object) => Promise<unknown> }) => {
    counter.reads += 1;
    counter.now += 1;
    counter.most = Math.max(counter.most, counter.now);
    try {
      return await query(args);
    } finally {
      counter.now -= 1;
    }
  };
  const extension = { query: { session: { findUnique: count }, projectToken: { findUnique: count } } };
  const db = storage.db.$extends(extension as object) as unknown as Database;
  const { log, lines } = logOf();
  const sealer = { seal: () => '', open: () => '', sign: () => '' };
  const auth = new AuthService({ db, engine: storage.engine, changes: storage.changes, sealer, log });
  onTestFinished(() => auth.close());
  const send = async (secret: string) => auth.viewerOf(`Bearer ${secret}`, '192.0.2.9');
  const unknown = newSecret('session');
  for (let i = 0; i < 10; i++) await expect(send(unknown)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  expect(counter.reads).toBe(1);
  const flood = await Promise.allSettled(Array.from({ length: 200 }, () => send(newSecret('session'))));
  expect(flood.every(({ status }) => status === 'rejected')).toBe(true);
  expect(counter.reads).toBe(201);
  expect(counter.most).toBeLessThanOrEqual(16);
  // Without the prefix of a token nothing is looked up.
  await expect(send('odd')).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  expect(counter.reads).toBe(201);
  await auth.close();
  expect(lines.map(({ address, count: times }) => [address, times])).toEqual([
    ['192.0.2.9', 5],
    ['192.0.2.9', 211],
  ]);
  expect(JSON.stringify(lines)).not.toContain(unknown);
});
