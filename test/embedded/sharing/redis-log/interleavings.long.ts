import { expect, onTestFinished, test } from 'vitest';
import { launchRedis, type Redis } from '../../../support/redis.ts';
import { type Relay, startRelay } from '../../../support/relay.ts';
import { QUICK, startNode, type TestNode } from './cluster.ts';

const TIMING = { ...QUICK, expiry: 2_000, vote: 2_000, snapshot: 2_000 };

/** So that a failure can be tried again. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A node that begins again when it ends, as brokers do. */
class Member {
  readonly nodeId: number;
  readonly #url: string;
  readonly acknowledged: string[] = [];
  readonly ends: string[] = [];
  node: TestNode;
  /** After an end: there again. */
  ready: Promise<void> = Promise.resolve();
  #number = 0;
  #appending: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(node: TestNode, url: string) {
    this.nodeId = node.nodeId;
    this.#url = url;
    this.node = node;
    this.#watch();
  }

  go(random: () => number): void {
    this.#isOver = false;
    this.#appending = this.#append(random);
  }

  async rest(): Promise<void> {
    this.#isOver = true;
    await this.#appending;
  }

  async again(): Promise<void> {
    this.node = await startNode(this.nodeId, { url: this.#url, former: this.node, timing: TIMING });
    this.#watch();
  }

  #watch(): void {
    const end = async () => {
      const { reason } = await this.node.ended;
      this.ends.push(reason);
      this.ready = this.again();
      await this.ready;
    };
    void end();
  }

  async #append(random: () => number): Promise<void> {
    while (!this.#isOver) {
      const texts = Array.from({ length: 1 + Math.floor(random() * 5) }, () => `${this.#number++}`);
      const size = random() < 0.02 ? 400_000 : Math.floor(random() * 500);
      const { node } = this;
      try {
        await Promise.all(texts.map((text) => node.append(text, Buffer.alloc(size))));
        this.acknowledged.push(...texts.map((text) => `${this.nodeId}:${text}`));
      } catch {
        await node.ended;
        await this.ready;
      }
    }
  }

  async appendSurely(text: string): Promise<void> {
    for (;;) {
      const { node } = this;
      try {
        await node.append(text);
        return;
      } catch {
        await node.ended;
        await this.ready;
      }
    }
  }

  async has(text: string): Promise<void> {
    for (;;) {
      const { node } = this;
      if (await Promise.race([node.has(text).then(() => true), node.ended.then(() => false)])) return;
      await this.ready;
    }
  }
}

async function interleave(seed: number, durable: boolean) {
  const random = randomFrom(seed);
  const redis = await launchRedis({ durable });
  onTestFinished(() => redis.stop());
  const relays: Relay[] = [];
  const members: Member[] = [];
  for (const nodeId of [1, 2, 3]) {
    const relay = await startRelay(redis.port);
    relays.push(relay);
    const url = relay.url.replace('mqtt', 'redis');
    members.push(new Member(await startNode(nodeId, { url, timing: TIMING }), url));
  }
  for (let round = 0; round < 12; round++) {
    for (const member of members) member.go(random);
    const happened = await disturb(random, redis, relays);
    for (const member of members) await member.rest();
    await level(members, `${round}`);
    const [first, ...others] = members.map(({ node }) => node.state);
    for (const other of others) expect(other, `seed ${seed}, round ${round}: ${happened}`).toEqual(first);
    const entries = (first ?? []).filter((text) => !text.startsWith('lost'));
    expect(new Set(entries).size).toBe(entries.length);
    const had = new Set(entries);
    const missing = members.flatMap(({ acknowledged }) => acknowledged.filter((text) => !had.has(text)));
    expect(missing, `seed ${seed}, round ${round}: ${happened}`).toEqual([]);
    for (const { nodeId } of members) {
      const numbers = entries.filter((text) => text.startsWith(`${nodeId}:`) && !text.includes('level'));
      const inOrder = [...numbers].sort((x, y) => Number(x.slice(2)) - Number(y.slice(2)));
      expect(numbers).toEqual(inOrder);
    }
    // A node leaves and comes back, with its place.
    if (random() < 0.3) {
      const member = members[Math.floor(random() * 3)];
      await member?.node.log.close();
      await member?.again();
    }
  }
  return members.flatMap(({ ends }) => ends);
}

/** All have all. */
async function level(members: readonly Member[], name: string): Promise<void> {
  for (const member of members) {
    await member.appendSurely(`level ${name}`);
    for (const other of members) await other.has(`${member.nodeId}:level ${name}`);
  }
}

async function disturb(random: () => number, redis: Redis, relays: readonly Relay[]): Promise<string> {
  const happened: string[] = [];
  for (let left = 1 + Math.floor(random() * 4); left > 0; left--) {
    await new Promise((resolve) => setTimeout(resolve, random() * 300));
    const what = random();
    if (what < 0.6) {
      const relay = Math.floor(random() * 3);
      happened.push(`cut ${relay}`);
      relays[relay]?.cut();
    } else if (what < 0.8) {
      happened.push('kill');
      await redis.kill();
      await redis.start();
    } else if (what < 0.9) {
      happened.push('flush');
      await redis.command('FLUSHALL');
    } else {
      happened.push('still');
      redis.standStill();
      await new Promise((resolve) => setTimeout(resolve, random() * 3_000));
      redis.goOn();
    }
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
  return happened.join(', ');
}

for (const durable of [true, false]) {
  for (const seed of [1, 2, 3, 4, 5]) {
    test(`three nodes through whatever happens, ${durable ? 'with' : 'without'} what Redis keeps, seed ${seed}`, async () => {
      const ends = await interleave(seed, durable);
      // A node that fell behind, or was thought to: not more.
      expect(ends.filter((reason) => reason === 'BROKEN')).toEqual([]);
    });
  }
}
