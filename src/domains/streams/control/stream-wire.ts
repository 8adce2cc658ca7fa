import { isDeepStrictEqual } from 'node:util';
import { type Fields, fieldOf, isFields } from '../../../protocol/control/fields.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import { DEFAULT_DEFINITION, type StreamDefinition, type StreamQos } from '../model/stream-definition.ts';
import type { TimeBounds } from '../model/stream-engine.ts';
import type { StreamOnNode } from '../model/stream-nodes.ts';
import type { StreamQuery } from '../model/stream-query.ts';
import type { ReplayRequest } from '../model/stream-replay.ts';
import type { StreamReport } from '../model/stream-report.ts';
import { readReport } from './report-wire.ts';
import { readStreamNodes } from './stream-nodes-wire.ts';

/** A stream as the API tells it. */
export interface StreamEntry {
  readonly definition: StreamDefinition;
  readonly replaying: boolean;
  /** Null where whoever serves the API does not tell. */
  readonly report: StreamReport | null;
  /** Of a stream of a cluster whose nodes have streams of their own: on each node, by number. */
  readonly nodes?: readonly StreamOnNode[];
}

type Key = keyof Omit<StreamDefinition, 'name'>;

/** How the API spells what a stream is; its name is `streamname`. */
const SPELLINGS = {
  sourceTopic: 'sourcetopic',
  targetTopic: 'targettopic',
  targetQos: 'targetqos',
  ttl: 'ttl',
  active: 'active',
  process: 'process',
  persist: 'persist',
  key: 'key',
  query: 'query',
  textName: 'textname',
  textDescription: 'textdescription',
} as const satisfies Record<Key, string>;

const KEYS = Object.keys(SPELLINGS) as Key[];

/** The last second that a Date can hold. */
const LAST_SECOND = 8_640_000_000_000;

/** On the wire they are empty where they are none. */
const NULLABLE: ReadonlySet<Key> = new Set(['targetTopic', 'key', 'textName', 'textDescription']);

/** Fields of a command for what is given; null clears, which the API writes as an empty text. */
export function commandFields(given: Partial<Omit<StreamDefinition, 'name'>>): Fields {
  const keys = KEYS.filter((key) => given[key] !== undefined);
  return Object.fromEntries(keys.map((key) => [SPELLINGS[key], given[key] ?? '']));
}

/** What differs between two definitions, by the names of the model. */
export const differencesBetween = (one: StreamDefinition, other: StreamDefinition): string[] =>
  KEYS.filter((key) => !isDeepStrictEqual(one[key], other[key]));

/** What a command gives, its values unchecked; an empty text is none where there may be none, and null counts as absent. */
export function givenFields(command: Fields): Readonly<Partial<Record<Key, unknown>>> {
  const entries = KEYS.map((key) => [key, fieldOf(command, SPELLINGS[key])] as const);
  return Object.fromEntries(
    entries
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([key, value]) => [key, value === '' && NULLABLE.has(key) ? null : value]),
  );
}

/** Bounds of stored messages; a text may stand for a number, and an empty one for none. Errors: ControlRefusal. */
export function boundsOf(command: Fields): TimeBounds {
  const bound = (name: 'gte' | 'lte') => {
    const value = fieldOf(command, name) ?? '';
    if (value === '') return null;
    const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof seconds !== 'number' || !(Math.abs(seconds) <= LAST_SECOND)) throw new ControlRefusal(`Invalid ${name}`);
    return Math.round(seconds * 1_000);
  };
  return { from: bound('gte'), to: bound('lte') };
}

/** What a replay is asked to be; beside the bounds unchecked. Errors: as `boundsOf`. */
export function replayOf(command: Fields): Readonly<Record<keyof ReplayRequest, unknown>> {
  const limit = fieldOf(command, 'limit') ?? -1;
  const speed = fieldOf(command, 'speed') ?? 'original';
  return {
    ...boundsOf(command),
    topic: fieldOf(command, 'replaytopic') ?? undefined,
    limit: limit === -1 ? null : limit,
    speed: speed === 'original' ? 1 : speed,
    reverse: fieldOf(command, 'reverse') ?? false,
  };
}

/** The object of `getStream` and of a verbose list. `key` is not documented there, so it is told only where there is one. */
export function streamObject({ definition, replaying, report, nodes }: StreamEntry): Fields {
  const { key, ...rest } = definition;
  return {
    streamname: definition.name,
    ...commandFields(rest),
    ...(key === null ? {} : { key }),
    replaying,
    ...(report === null ? {} : { report }),
    ...(nodes === undefined ? {} : { nodes }),
  };
}

/** Longer texts of brokers are cut. */
const MAX_TEXT = 65_535;
const MAX_QUERY_TEXT = 100_000;
/** As much as the graph can tell. */
const MAX_TTL = 2_147_483_647;

/** Of any broker's answer: what is odd is as the default, and what has no name or source is no stream (null). */
export function readStream(value: unknown): StreamEntry | null {
  if (!isFields(value)) return null;
  const text = (name: string) => {
    const found = fieldOf(value, name);
    return typeof found === 'string' && found !== '' ? found.slice(0, MAX_TEXT) : null;
  };
  const flag = (name: 'active' | 'process' | 'persist') => {
    const found = fieldOf(value, name);
    return typeof found === 'boolean' ? found : DEFAULT_DEFINITION[name];
  };
  const name = text('streamname');
  const sourceTopic = text(SPELLINGS.sourceTopic);
  if (name === null || sourceTopic === null) return null;
  const report = readReport(fieldOf(value, 'report'));
  const nodes = readStreamNodes(fieldOf(value, 'nodes'));
  return {
    definition: {
      name,
      sourceTopic,
      targetTopic: text(SPELLINGS.targetTopic),
      targetQos: qosOf(fieldOf(value, SPELLINGS.targetQos)),
      ttl: ttlOf(fieldOf(value, SPELLINGS.ttl)),
      active: flag('active'),
      process: flag('process'),
      persist: flag('persist'),
      key: text(SPELLINGS.key),
      query: queryOf(fieldOf(value, SPELLINGS.query)),
      textName: text(SPELLINGS.textName),
      textDescription: text(SPELLINGS.textDescription),
    },
    replaying: fieldOf(value, 'replaying') === true,
    report,
    ...(nodes === null ? {} : { nodes }),
  };
}

/** Names of a list that is not verbose; a broker that tells objects all the same is taken at their names. */
export function readName(value: unknown): string | null {
  const name = isFields(value) ? fieldOf(value, 'streamname') : value;
  return typeof name === 'string' && name !== '' ? name.slice(0, MAX_TEXT) : null;
}

const qosOf = (value: unknown): StreamQos =>
  value === 0 || value === 1 || value === 2 ? value : DEFAULT_DEFINITION.targetQos;

const ttlOf = (value: unknown): number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0
    ? Math.min(value, MAX_TTL)
    : DEFAULT_DEFINITION.ttl;

/** A broker's query is told as it stands, also where it knows more than is documented, if it can be written at all. */
function queryOf(value: unknown): StreamQuery {
  if (!isFields(value)) return {};
  try {
    return JSON.stringify(value).length <= MAX_QUERY_TEXT ? value : {};
  } catch {
    // Nested deeper than it can be written.
    return {};
  }
}
