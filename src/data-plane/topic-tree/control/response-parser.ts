import { type Fields, fieldOf, fieldsOf, isFields, timeOf } from '../../../protocol/control/fields.ts';
import type {
  RecordedTopic,
  RecorderState,
  TopicLevel,
  TopicPayload,
  TopicResponses,
} from '../model/topic-recorder.ts';

const STATES: readonly RecorderState[] = ['STOPPED', 'STARTING', 'RECORDING', 'DENIED', 'UNREACHABLE'];

const MAX_ENTRIES = 10_000;
const MAX_NODES = 1_000;
const MAX_TOPIC = 65_535;
const MAX_REASON = 1_000;
/** Maximum value of the GraphQL type Int. */
const MAX_INT = 2_147_483_647;
/** Maximum number of base64 characters, more than any stored preview has. */
const MAX_PAYLOAD = 100_000;

/** Parses responses, which may come from other versions or untrusted brokers. Invalid values are treated as missing. */
export const parseResponse: {
  readonly [Type in keyof TopicResponses]: (data: unknown) => TopicResponses[Type];
} = {
  status: parsed((fields) => ({
    state: STATES.find((state) => state === fields.state) ?? 'STARTING',
    reason: textOf(fields.reason, MAX_REASON),
    since: timeOf(fields.since),
    asOf: timeOf(fields.asOf),
    isComplete: typeof fields.isComplete === 'boolean' ? fields.isComplete : null,
    deniedFilters: listOf(fields.deniedFilters, topicOf).slice(0, 1_000),
    published: countsOf(fields.published),
    subscribed: isFields(fields.subscribed) ? countsOf(fields.subscribed) : null,
    subscribedReason: textOf(fields.subscribedReason, MAX_REASON),
    memoryBytes: countOf(fields.memoryBytes),
    messages: countOf(fields.messages),
    tellsRetain: fields.tellsRetain === true,
  })),
  find: parsed((fields) => ({
    topics: listOf(fields.topics, recordedOf),
    hasMore: fields.hasMore === true,
    totalCount: typeof fields.totalCount === 'number' ? intOf(fields.totalCount) : null,
  })),
  levels: parsed((fields) => ({
    levels: listOf(fields.levels, levelOf),
    hasMore: fields.hasMore === true,
    totalCount: intOf(fields.totalCount),
  })),
  topic: recordedOf,
  changes: parsed((fields) => ({
    cursor: textOf(fields.cursor, MAX_REASON) ?? '',
    isContinued: fields.isContinued === true,
    added: listOf(fields.added, recordedOf),
    changed: listOf(fields.changed, recordedOf),
    expired: listOf(fields.expired, topicOf),
    addedLeftOut: countOf(fields.addedLeftOut),
    changedLeftOut: countOf(fields.changedLeftOut),
    expiredLeftOut: countOf(fields.expiredLeftOut),
    counts: countsOf(fields.counts),
  })),
};

function parsed<Response>(parse: (fields: Fields) => Response): (data: unknown) => Response {
  return (data) => parse(fieldsOf(data));
}

function recordedOf(value: unknown): RecordedTopic | null {
  if (!isFields(value)) return null;
  const topic = topicOf(value.topic);
  if (topic === null) return null;
  return {
    topic,
    messages: countOf(value.messages),
    firstSeen: timeOf(value.firstSeen) ?? 0,
    lastSeen: timeOf(value.lastSeen) ?? 0,
    qos: value.qos === 1 || value.qos === 2 ? value.qos : 0,
    retain: value.retain === true,
    payload: payloadOf(value.payload),
    ...(Array.isArray(value.nodes) ? { nodes: value.nodes.slice(0, MAX_NODES).map(intOf) } : {}),
  };
}

function payloadOf(value: unknown): TopicPayload | null {
  if (!isFields(value) || typeof value.data !== 'string' || value.data.length > MAX_PAYLOAD) return null;
  return { data: value.data, bytes: intOf(value.bytes) };
}

function levelOf(value: unknown): TopicLevel | null {
  if (!isFields(value) || typeof value.name !== 'string' || value.name.length > MAX_TOPIC) return null;
  return {
    name: value.name,
    topic: topicOf(value.topic) ?? value.name,
    topicCount: intOf(value.topicCount),
    childCount: intOf(value.childCount),
    recorded: recordedOf(value.recorded),
  };
}

const countsOf = parsed((fields) => ({
  count: intOf(fields.count),
  leftOut: countOf(fields.leftOut),
  isTruncated: fields.isTruncated === true,
}));

function listOf<T>(value: unknown, entryOf: (entry: unknown) => T | null): T[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, MAX_ENTRIES).flatMap((entry: unknown) => entryOf(entry) ?? []);
}

/** Returns `null` if the value is neither a topic nor a topic filter. An empty text is not a topic. */
export const topicOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' && value.length <= MAX_TOPIC && !value.includes('\0') ? value : null;

/** Returns a non-negative integer, also from a numeric text. 0 for other values. */
const countOf = (value: unknown): number => wholeOf(value) ?? 0;

const intOf = (value: unknown): number => Math.min(countOf(value), MAX_INT);

export function settingOf(value: unknown): number | null {
  const whole = wholeOf(value);
  return whole === null ? null : Math.min(whole, MAX_INT);
}

/** Returns a non-negative integer, also from a numeric text. `null` for other values. */
export function wholeOf(value: unknown): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || !(number >= 0)) return null;
  return Math.min(Math.trunc(number), Number.MAX_SAFE_INTEGER);
}

const textOf = (value: unknown, maxLength: number): string | null =>
  typeof value === 'string' ? value.slice(0, maxLength) : null;

/** Returns a field of a documented response, by its case-insensitive name. */
export const fieldIn = (data: unknown, name: string): unknown => (isFields(data) ? fieldOf(data, name) : undefined);
