import { randomInt } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect } from 'vitest';
import type { Redis } from '../../support/redis.ts';
import { connect } from '../embedded.ts';
import { type NodeOptions, nodeOf, startNode, type TestNode } from './nodes.ts';
import { countNumbers, cut, publishNumbers, roam } from './roaming.ts';

export type Fault = 'KILL' | 'PAUSE' | 'REDIS_KILL' | 'REDIS_FLUSH' | 'REDIS_PAUSE' | 'JOIN' | 'CUT';

const SHARED = ['retained', 'session', 'subscription', 'message', 'queue', 'incoming', 'delayed_will', 'presence'];

const pidOf = (node: TestNode) => Number(readFileSync(join(node.folder, 'broker.pid'), 'utf8'));

/** What a node has in common with the others, by table. */
export function tablesOf(node: TestNode): Record<string, unknown[]> {
  const copy = mkdtempSync(join(tmpdir(), 'journal-'));
  for (const file of ['broker.sqlite', 'broker.sqlite-wal']) {
    if (existsSync(join(node.folder, file))) copyFileSync(join(node.folder, file), join(copy, file));
  }
  const db = new Database(join(copy, 'broker.sqlite'));
  try {
    const tables = SHARED.map((table) => [
      table,
      db
        .prepare(`SELECT * FROM ${table}`)
        .all()
        .map((row) => JSON.stringify(row))
        .sort(),
    ]);
    const next = db
      .prepare('SELECT next_message FROM log_place')
      .all()
      .map((row) => JSON.stringify(row));
    return Object.fromEntries([...tables, ['next', next]]);
  } finally {
    db.close();
  }
}

async function ask(node: TestNode): Promise<object> {
  const client = await connect(node.mqttPort, { clientId: `asks-${randomInt(1e9)}` });
  const said = await Promise.race([nodeOf(client), delay(3_000, {})]);
  await client.endAsync(true);
  return said;
}

/** All nodes are members. */
async function caughtUp(nodes: readonly TestNode[]): Promise<void> {
  for (let before = ''; ; ) {
    const told = await Promise.all(
      nodes.map(async (node) => {
        // While its process stands still, or ends, nothing may ever be answered.
        const asked = ask(node).catch(() => ({}));
        return Promise.race([asked, delay(5_000, {})]);
      }),
    );
    const states = told.map((one) => (one as { state?: string }).state);
    if (states.every((state) => state === 'MEMBER')) {
      if (before === 'MEMBER') return;
      before = 'MEMBER';
    } else before = '';
    await delay(200);
  }
}

export async function faults(redis: Redis, rounds: readonly Fault[], options: Partial<NodeOptions>): Promise<void> {
  const clusterId = `faults${randomInt(1e9)}`;
  const say = (...what: unknown[]) => process.env.TEST_SAY && console.error(new Date().toISOString(), ...what);
  const start = (nodeId: number) => startNode({ ...options, redis, clusterId, nodeId, ownProcess: true });
  const nodes = [await start(1), ...(await Promise.all([start(2), start(3)]))];
  const subscriber = roam(nodes, { clientId: 'subscriber' });
  const window = roam(nodes, {
    clientId: 'window',
    protocolVersion: 5,
    properties: { sessionExpiryInterval: 600, receiveMaximum: 3 },
  });
  const subscribers = [subscriber, window];
  const arrivals = subscribers.map((client) => {
    const seen = new Map<string, number[]>();
    client.on('message', (topic, payload) => {
      seen.set(topic, [...(seen.get(topic) ?? []).slice(-200_000), Number(payload.toString())]);
    });
    return seen;
  });
  const counts = subscribers.map((client) => countNumbers(client));
  for (const client of subscribers) {
    if (!client.connected) await new Promise<void>((resolve) => client.once('connect', () => resolve()));
    await client.subscribeAsync({ 'n/1': { qos: 1 }, 'n/2': { qos: 2 } });
  }
  const publishers = [1, 2].map((qos) => roam(nodes, { clientId: `publisher${qos}` }));
  const publishing = [1, 2].map((qos, index) =>
    publishNumbers(publishers[index] as never, `n/${qos}`, qos as 1 | 2, 50),
  );
  // The same client id at two nodes, again and again.
  const pong = [0, 1].map((first) =>
    roam([nodes[first], nodes[first + 1]] as TestNode[], { clientId: 'pingpong', reconnectPeriod: 200 }),
  );
  for (const one of pong) one.on('connect', () => one.subscribe('pp/#', { qos: 1 }));
  // Retained by both, and deleted.
  let isWriting = true;
  const writers = publishers.map(async (client) => {
    while (isWriting) {
      await client
        .publishAsync(`r/${randomInt(10)}`, randomInt(3) === 0 ? '' : String(randomInt(1e9)), { qos: 1, retain: true })
        .catch(() => {});
      await delay(20);
    }
  });
  for (const fault of rounds) {
    const before = publishing.map(({ acknowledged }) => acknowledged.length);
    const index = randomInt(nodes.length);
    const node = nodes[index] as TestNode;
    const since = Date.now();
    say(fault, node.nodeId, before);
    if (fault === 'KILL') node.kill();
    else if (fault === 'CUT') cut([subscriber, window, ...publishers][randomInt(4)] as never);
    else if (fault === 'PAUSE') {
      const pid = pidOf(node);
      process.kill(pid, 'SIGSTOP');
      await delay(10_000);
      process.kill(pid, 'SIGCONT');
    } else if (fault === 'REDIS_KILL') {
      await redis.kill();
      await delay(randomInt(1_000));
      await redis.start();
    } else if (fault === 'REDIS_FLUSH') await redis.command('FLUSHALL');
    else if (fault === 'REDIS_PAUSE') {
      redis.standStill();
      await delay(5_000);
      redis.goOn();
    } else nodes.push(await start(nodes.length + 1));
    const wait = Date.now();
    // Everything goes on.
    while (publishing.some(({ acknowledged }, i) => acknowledged.length < (before[i] ?? 0) + 30)) {
      await delay(20);
      if (Date.now() - wait > 60_000) {
        say(
          'NOTHING GOES ON',
          publishing.map(({ acknowledged }) => acknowledged.length),
          publishers.map((p) => p.connected),
        );
        break;
      }
    }
    say(
      '  goes on after',
      Date.now() - wait,
      'ms; caught up?',
      publishing.map(({ acknowledged }) => acknowledged.length),
    );
    if (fault !== 'CUT') await caughtUp(nodes);
    say('  caught up', Date.now() - since);
  }
  isWriting = false;
  await Promise.all(writers);
  for (const one of pong) await one.endAsync(true);
  for (const [index, { stop }] of publishing.entries()) {
    const acknowledged = await stop();
    const topic = `n/${index + 1}`;
    say('acknowledged', topic, acknowledged.length);
    for (const [i, count] of counts.entries()) {
      await Promise.race([
        count.until(topic, acknowledged),
        delay(30_000).then(() => {
          throw new Error(`${i} misses of ${topic}: ${count.missing(topic, acknowledged)}`);
        }),
      ]);
      if (index === 1) expect(count.more(topic)).toEqual([]);
      let last = -1;
      const seen = new Set<number>();
      for (const number of arrivals[i]?.get(topic) ?? []) {
        if (!seen.has(number) && number < last) throw new Error(`${topic} at ${i}: ${number} after ${last}`);
        seen.add(number);
        if (number > last) last = number;
      }
    }
  }
  for (const client of [...subscribers, ...publishers]) await client.endAsync();
  await caughtUp(nodes);
  await delay(500);
  const [first, ...others] = nodes.map(tablesOf);
  say(
    Object.entries(first ?? {})
      .map(([name, rows]) => `${name}: ${rows.length}`)
      .join(', '),
  );
  say(
    await redis.command('KEYS', '*'),
    await redis.command('XLEN', `brokergraph:{${clusterId}}:log`),
    await redis.command('HGETALL', `brokergraph:{${clusterId}}:state`),
  );
  for (const other of others) expect(other).toEqual(first);
}
