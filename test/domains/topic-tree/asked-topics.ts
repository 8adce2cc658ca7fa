import { setImmediate as turn } from 'node:timers/promises';
import type {
  FindTopics,
  LevelPage,
  RecordedTopic,
  TopicRecorder,
} from '../../../src/data-plane/topic-tree/model/topic-recorder.ts';
import type { Random } from '../clients/truth/random.ts';

/** What pages are asked for, as a reader may choose it. */
export type Choice = Pick<FindTopics, 'prefix' | 'search' | 'filter'>;

/** One list that was read, page by page, in this span of time (epoch milliseconds). */
export interface ReadList {
  readonly topics: readonly RecordedTopic[];
  readonly totalCount: number | null;
  readonly from: number;
  readonly to: number;
}

/** `sizeOf` gives the size of each page. */
export async function readPages(
  ask: TopicRecorder['query'],
  choice: Choice,
  sizeOf: () => number,
  kind: FindTopics['kind'] = 'PUBLISHED',
): Promise<ReadList> {
  const from = Date.now();
  const topics: RecordedTopic[] = [];
  let totalCount: number | null = null;
  for (;;) {
    const after = topics.at(-1)?.topic;
    const page = await ask('find', { kind, ...choice, after, first: sizeOf(), withCount: topics.length === 0 });
    totalCount ??= page.totalCount;
    topics.push(...page.topics);
    // A recorder in this process hears of messages meanwhile.
    await turn();
    if (!page.hasMore) return { topics, totalCount, from, to: Date.now() };
  }
}

export async function readLevels(
  ask: TopicRecorder['query'],
  of: string | null,
  size: number,
): Promise<LevelPage['levels']> {
  const levels: LevelPage['levels'][number][] = [];
  for (;;) {
    const page = await ask('levels', { kind: 'PUBLISHED', of, after: levels.at(-1)?.name, first: size });
    levels.push(...page.levels);
    if (!page.hasMore) return levels;
  }
}

/** Whether a list has to have a topic in it: written once more, level by level, as the standard puts it. */
export function isChosen(topic: string, { prefix, search, filter }: Choice): boolean {
  if (prefix !== undefined && topic !== prefix && !topic.startsWith(`${prefix}/`)) return false;
  if (search !== undefined && !topic.toLowerCase().includes(search.toLowerCase())) return false;
  return filter === undefined || matches(filter.split('/'), topic.split('/'));
}

function matches([name, ...names]: readonly string[], [level, ...levels]: readonly string[]): boolean {
  if (name === '#') return true;
  if (name === undefined || level === undefined) return name === undefined && level === undefined;
  if (name !== '+' && name !== level) return false;
  return (levels.length === 0 && names.length === 1 && names[0] === '#') || matches(names, levels);
}

/** By level, each by its UTF-16 code units. */
export function compareTopics(a: string, b: string): number {
  const [levels, others] = [a.split('/'), b.split('/')];
  for (const [index, level] of levels.entries()) {
    const other = others[index];
    if (other === undefined) return 1;
    if (level !== other) return level < other ? -1 : 1;
  }
  return levels.length - others.length;
}

/** Nothing, or one to three of prefix, search and filter that fit some of the topics. */
export function randomChoice(random: Random, topics: readonly string[]): Choice {
  const levels = random.pick(topics).split('/');
  const upTo = levels.slice(0, 1 + random.below(levels.length));
  const choice: { -readonly [Key in keyof Choice]: Choice[Key] } = {};
  // Of a last empty level nothing would be left.
  if (random.chance(0.4) && upTo.at(-1) !== '') choice.prefix = upTo.join('/');
  if (random.chance(0.4)) {
    const text = random.pick(topics);
    const at = random.below(text.length);
    const part = text.slice(at, at + 1 + random.below(6));
    choice.search = random.chance(0.5) ? part.toUpperCase() : part;
  }
  if (random.chance(0.4)) {
    const names = levels.map((level) => (random.chance(0.4) ? '+' : level));
    choice.filter = random.chance(0.5) ? [...names.slice(0, upTo.length), '#'].join('/') : names.join('/');
  }
  return choice;
}
