import type { ControlCall } from '../../../../src/protocol/control/plugin.ts';

const COMMANDS = [
  'topicCount',
  'listTopics',
  'getTtl',
  'setTtl',
  'addFilter',
  'removeFilter',
  'clearFilters',
  'listFilters',
  'getLimits',
  'setLimits',
  'getRecording',
  'setRecording',
  'getTopicStatus',
  'findTopics',
  'listLevels',
  'getTopic',
  'topicChanges',
  'constructor',
];

const FIELDS = [
  'ttl',
  'filter',
  'exclude',
  'filters',
  'excludedFilters',
  'publishLimit',
  'subscribeLimit',
  'payloadLimit',
  'always',
  'count',
  'offset',
  'kind',
  'prefix',
  'search',
  'after',
  'first',
  'withCount',
  'withPayloads',
  'of',
  'topic',
  'since',
];

const VALUES: readonly unknown[] = [
  null,
  '',
  'plant',
  'plant/#',
  'plant/1',
  '#',
  '+/+',
  '/',
  '$SYS/#',
  '\u0000',
  '\ud800',
  'PUBLISHED',
  'SUBSCRIBED',
  'x'.repeat(70_000),
  0,
  -1,
  1,
  5,
  60,
  2.5,
  1e308,
  9e15,
  true,
  false,
  [],
  ['plant/#'],
  ['plant/#', 'plant/#'],
  [['a']],
  {},
  { filter: 'a' },
];

/** What writes take; half of the fields are some of these. */
const WRITTEN: Readonly<Record<string, readonly string[]>> = {
  setTtl: ['ttl'],
  addFilter: ['filter', 'exclude'],
  removeFilter: ['filter', 'exclude'],
  setLimits: ['publishLimit', 'subscribeLimit', 'payloadLimit'],
  setRecording: ['ttl', 'filters', 'excludedFilters', 'always'],
};

/** A generator of numbers from 0 below the one given, the same ones for a seed. */
export function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

/** Commands with fields of all kinds, the same ones for a seed. */
export function oddFields(seed: number): () => ControlCall {
  const random = dice(seed);
  const oneOf = <T>(values: readonly T[]): T => values[random(values.length)] as T;
  return () => {
    const command = oneOf(COMMANDS);
    const field = () => oneOf(random(2) === 0 ? FIELDS : (WRITTEN[command] ?? FIELDS));
    return { command, fields: Object.fromEntries(Array.from({ length: random(5) }, () => [field(), oneOf(VALUES)])) };
  };
}
