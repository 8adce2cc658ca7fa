import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type {
  RecordedTopic,
  TopicChanges,
  TopicLevel,
  TopicRecorder,
} from '../../../src/data-plane/topic-tree/model/topic-recorder.ts';
import { type Random, randomOf } from '../clients/truth/random.ts';
import {
  type Choice,
  compareTopics,
  isChosen,
  type ReadList,
  randomChoice,
  readLevels,
  readPages,
} from './asked-topics.ts';
import { randomTopics, TopicPublisher } from './topic-publishers.ts';
import type { TopicTarget } from './topic-targets.ts';
import { TrueTopics } from './true-topics.ts';

interface TruthPlan {
  readonly seed: number;
  /** That are published to while nothing expires. */
  readonly topics: number;
  readonly rounds: number;
  /** How long topics come and go. */
  readonly seconds: number;
}

export const PAYLOAD_LIMIT = 12;
export const LONG_TTL = 3_600;
const SHORT_TTL = 3;
const PUBLISHERS = 4;
/** Topics kept in use while others come and go. */
const STABLE = 200;
const PAUSE_MS = 80;
/** The largest that the recorder gives. */
const MOST_CHANGES = 1_000;

/**
 * Clients publish and note their messages while requests are sent to the recorder. While messages are in flight, its
 * responses must be within the bounds of what it may know. After all messages have arrived, they must be exact.
 */
export async function checkTruth(target: TopicTarget, plan: TruthPlan): Promise<void> {
  const random = randomOf(plan.seed);
  const truth = new TrueTopics(LONG_TTL, PAYLOAD_LIMIT);
  const check = new TruthCheck(target, truth, random);
  const kept = randomTopics(random, 50, 'kept');
  await target.keep(kept.map((topic) => [topic, Buffer.from(`kept: ${topic}`)]));
  const from = Date.now();
  await target.query('status', {});
  for (const topic of kept) {
    const payload = Buffer.from(`kept: ${topic}`);
    truth.add(topic, { sent: from, settled: Date.now(), qos: 0, retain: true, payload });
  }
  await check.list({});
  const publishers = await Promise.all(
    Array.from({ length: PUBLISHERS }, async (_, index) => {
      return new TopicPublisher({ client: await target.connect(), name: String(index), target, truth, random });
    }),
  );
  await check.begin();
  const shares = shared(randomTopics(random, plan.topics, 'all'), PUBLISHERS);
  for (let round = 0; round < plan.rounds; round += 1) {
    const started = Date.now();
    const done = Promise.all(
      publishers.map((publisher, index) => publisher.publish(some(random, shares[index] as string[], 0.4))),
    );
    await check.until(done, () => check.list({}));
    await check.quiet(started);
  }
  await truth.changeTtl(SHORT_TTL, () => target.setTtl(SHORT_TTL));
  await check.comingAndGoing(publishers, plan.seconds);
}

class TruthCheck {
  readonly #target: TopicTarget;
  readonly #query: TopicRecorder['query'];
  readonly #truth: TrueTopics;
  readonly #random: Random;
  #cursor: string | null = null;
  /** Listed topics according to the changes. */
  #listed = new Set<string>();
  /** Of the topics whose changes are followed. */
  #prefix: string | undefined;

  constructor(target: TopicTarget, truth: TrueTopics, random: Random) {
    this.#target = target;
    this.#query = target.query;
    this.#truth = truth;
    this.#random = random;
  }

  /** What changes from now on is followed. */
  async begin(): Promise<void> {
    await this.#changes();
    this.#listed = new Set((await readPages(this.#query, {}, () => 10_000)).topics.map(({ topic }) => topic));
  }

  /** Checks until `done`. The last check has ended, so that the next request for changes does not overlap with it. */
  async until(done: Promise<unknown>, check: () => Promise<unknown>): Promise<void> {
    let isDone = false;
    const ending = done.finally(() => {
      isDone = true;
    });
    const checking = async () => {
      while (!isDone) await check();
    };
    await Promise.all([ending, checking()]);
  }

  /** One list, in pages of random sizes, against the truth of the time in which it was read. */
  async list(choice: Choice): Promise<ReadList> {
    const most = Math.max(5, Math.ceil(this.#truth.topics.length / this.#random.pick([0.5, 4, 16])));
    const list = await readPages(this.#query, choice, () => 1 + this.#random.below(most));
    const topics = list.topics.map(({ topic }) => topic);
    const problems: string[] = [];
    for (const [index, topic] of topics.entries()) {
      if (index > 0 && compareTopics(topics[index - 1] as string, topic) >= 0)
        problems.push(`${topic} is out of order`);
      if (!isChosen(topic, choice)) problems.push(`${topic} was not asked for`);
    }
    const listed = new Set(topics);
    for (const topic of this.#truth.topics) {
      if (!listed.has(topic) && isChosen(topic, choice) && this.#truth.wasThere(topic, list.from, list.to))
        problems.push(`${topic} is missing`);
    }
    for (const record of list.topics) {
      const problem = this.#truth.problemOf(record, list.from, list.to);
      if (problem) problems.push(`${record.topic}: ${problem}`);
    }
    this.#expectNone(problems, `${topics.length} topics with ${JSON.stringify(choice)}, ${most} at most in a page`);
    return list;
  }

  /** No message is in flight and no topic expires, so all responses are exact. `since`: begin of the last publishes. */
  async quiet(since: number): Promise<void> {
    const { topics } = await this.list({});
    expect(topics.map(({ topic }) => topic)).toEqual([...this.#truth.topics].sort(compareTopics));
    const status = await this.#query('status', {});
    expect(status.published).toEqual({ count: topics.length, leftOut: 0, isTruncated: false });
    expect(status.messages).toBe(topics.reduce((sum, { messages }) => sum + messages, 0));
    for (let turn = 0; turn < 10; turn += 1) await this.#chosen(topics);
    await this.#levels(topics);
    await this.#exactChanges(since);
  }

  async comingAndGoing(publishers: readonly TopicPublisher[], seconds: number): Promise<void> {
    const random = this.#random;
    const stable = randomTopics(random, STABLE, 'stable');
    const passing = shared(randomTopics(random, MOST_CHANGES - 100, 'passing'), publishers.length);
    // At most as many at once as one response contains.
    this.#prefix = 'passing';
    this.#cursor = null;
    this.#listed.clear();
    await this.#followChanges();
    let end = Date.now() + seconds * 1_000;
    let most = 0;
    let sure = 0;
    const publishing = publishers.map(async (publisher, index) => {
      while (Date.now() < end) {
        await publisher.publish(index === 0 ? stable : some(random, passing[index] as string[], 0.08));
        await delay(PAUSE_MS);
      }
    });
    const asking = async () => {
      const list = await this.list(random.chance(0.3) ? {} : randomChoice(random, this.#truth.topics));
      most = Math.max(most, list.topics.length);
      sure += stable.filter((topic) => this.#truth.wasThere(topic, list.from, list.to)).length;
      await this.#followChanges();
      await delay(PAUSE_MS);
      // On a slow machine it takes longer until something was tried.
      if (most <= STABLE || sure <= STABLE) end = Math.max(end, Date.now() + 500);
    };
    await this.until(Promise.all(publishing), asking);
    // Else nothing was tried.
    expect(most, this.#target.name).toBeGreaterThan(STABLE);
    expect(sure, this.#target.name).toBeGreaterThan(STABLE);
    // Each in its time, which `list` sees to.
    while ((await this.list({})).topics.length > 0) {
      await this.#followChanges();
      await delay(PAUSE_MS);
    }
    await this.#followChanges();
    this.#expectNone([...this.#listed], 'topics that were never told to have expired');
  }

  async #chosen(all: readonly RecordedTopic[]): Promise<void> {
    const choice = randomChoice(this.#random, this.#truth.topics);
    const wanted = all.filter(({ topic }) => isChosen(topic, choice));
    const { topics, totalCount } = await this.list(choice);
    const text = `${this.#target.name}: ${JSON.stringify(choice)}`;
    if (topics.length === wanted.length) expect(topics, text).toEqual(wanted);
    const first = 1 + this.#random.below(50);
    const offset = this.#random.below(wanted.length + 2);
    const page = await this.#query('find', { kind: 'PUBLISHED', ...choice, first, offset, withCount: true });
    expect(page.topics, text).toEqual(wanted.slice(offset, offset + first));
    expect(page.hasMore, text).toBe(wanted.length > offset + first);
    expect(page.totalCount, text).toBe(wanted.length);
    expect(totalCount, text).not.toBeNull();
  }

  /** From the first level down to a random leaf. */
  async #levels(all: readonly RecordedTopic[]): Promise<void> {
    for (let turn = 0; turn < 5; turn += 1) {
      let of: string | null = null;
      for (;;) {
        const wanted = levelsBelow(all, of);
        const levels = await readLevels(this.#query, of, 20 + this.#random.below(500));
        expect(levels, `${this.#target.name}: below ${of}`).toEqual(wanted);
        const inner = levels.filter(({ childCount }) => childCount > 0);
        if (inner.length === 0) break;
        of = this.#random.pick(inner).topic;
      }
    }
  }

  /** Each topic that was used since then is returned once: in `added` or in `changed`. */
  async #exactChanges(since: number): Promise<void> {
    const changes = await this.#changes();
    const used = this.#truth.topics.filter((topic) => this.#truth.usedSince(topic, since) > 0);
    const added = used.filter((topic) => !this.#listed.has(topic));
    const changed = used.filter((topic) => this.#listed.has(topic));
    const { name } = this.#target;
    this.#isPartOf(changes.added, changes.addedLeftOut, added, `${name}: added`);
    this.#isPartOf(changes.changed, changes.changedLeftOut, changed, `${name}: changed`);
    expect(changes.expired, name).toEqual([]);
    for (const topic of added) this.#listed.add(topic);
    const again = await this.#changes();
    expect([again.added, again.changed, again.expired], `${name}: told again`).toEqual([[], [], []]);
  }

  #isPartOf(told: readonly RecordedTopic[], leftOut: number, wanted: readonly string[], text: string): void {
    const topics = new Set(told.map(({ topic }) => topic));
    expect(topics.size, text).toBe(told.length);
    expect(told.length + leftOut, text).toBe(wanted.length);
    expect(told.length, text).toBe(Math.min(MOST_CHANGES, wanted.length));
    const expected = new Set(wanted);
    this.#expectNone(
      [...topics].filter((topic) => !expected.has(topic)),
      text,
    );
    this.#expectNone(
      told
        .filter(({ lastSeen }, index) => lastSeen > (told[index - 1]?.lastSeen ?? lastSeen))
        .map(({ topic }) => topic),
      `${text}, those used last first`,
    );
  }

  /** All changes together must result in the listed topics. */
  async #followChanges(): Promise<void> {
    const { added, changed, expired } = await this.#changes();
    const problems: string[] = [];
    // A topic that is in both expired and came again.
    for (const topic of expired) if (!this.#listed.delete(topic)) problems.push(`${topic} was not there, and expired`);
    for (const { topic } of added) {
      if (this.#listed.has(topic)) problems.push(`${topic} was there`);
      this.#listed.add(topic);
    }
    for (const { topic } of changed) if (!this.#listed.has(topic)) problems.push(`${topic} was not there`);
    const now = Date.now();
    for (const topic of this.#listed) {
      if (!this.#truth.mayHaveBeen(topic, now, now)) problems.push(`${topic} is still told to be there`);
    }
    this.#expectNone(problems, 'changes');
  }

  async #changes(): Promise<TopicChanges> {
    const changes = await this.#query('changes', {
      kind: 'PUBLISHED',
      prefix: this.#prefix,
      since: this.#cursor,
      first: MOST_CHANGES,
    });
    if (this.#cursor !== null) expect(changes.isContinued, this.#target.name).toBe(true);
    this.#cursor = changes.cursor;
    return changes;
  }

  #expectNone(problems: readonly string[], text: string): void {
    expect(problems.slice(0, 10), `${this.#target.name}: ${text}`).toEqual([]);
  }
}

function levelsBelow(all: readonly RecordedTopic[], of: string | null): TopicLevel[] {
  const start = of === null ? '' : `${of}/`;
  const inside = new Map<string, RecordedTopic[]>();
  for (const record of all) {
    if (!record.topic.startsWith(start)) continue;
    const name = record.topic.slice(start.length).split('/')[0] as string;
    inside.set(name, [...(inside.get(name) ?? []), record]);
  }
  return [...inside]
    .sort(([a], [b]) => compareTopics(a, b))
    .map(([name, records]) => {
      const topic = start + name;
      const below = records.filter((record) => record.topic !== topic);
      const children = new Set(below.map((record) => record.topic.slice(topic.length + 1).split('/')[0]));
      const recorded = records.find((record) => record.topic === topic) ?? null;
      return { name, topic, topicCount: records.length, childCount: children.size, recorded };
    });
}

function shared(topics: readonly string[], among: number): string[][] {
  return Array.from({ length: among }, (_, index) => topics.filter((_topic, place) => place % among === index));
}

const some = (random: Random, topics: readonly string[], share: number): string[] =>
  topics.filter(() => random.chance(share));
