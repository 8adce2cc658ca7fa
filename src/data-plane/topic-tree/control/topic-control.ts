import { ServiceError } from '../../../platform/errors.ts';
import { withIssue } from '../../../protocol/control/issue-refusals.ts';
import type { ControlCall, ControlCaller } from '../../../protocol/control/plugin.ts';
import type { TopicPayload } from '../model/topic-recorder.ts';
import { DEFAULT_TOPIC_SETTINGS, MAX_PAYLOAD_LIMIT, type TopicSettings } from '../model/topic-settings.ts';
import { fieldIn, settingOf, topicOf, wholeOf } from './response-parser.ts';
import type { TopicSettingsChange } from './topic-setting-issues.ts';

/**
 * The documented commands, which every provider supports. Invalid values in responses are dropped or become defaults.
 * Errors in addition to those of `ControlCaller`: INVALID, NOT_FOUND (no such filter), BROKER_REJECTED.
 */
export const TOPIC_API = 'cedalo/topictree';

const MAX_ENTRIES = 1_000_000;
const MAX_PAYLOAD_TEXT = 65_536;
const MAX_READ_FILTERS = 10_000;

type TopicLimits = Pick<TopicSettings, 'publishLimit' | 'subscribeLimit' | 'payloadLimit'>;

export interface ListedTopic {
  readonly topic: string;
  readonly payload: TopicPayload | null;
}

export interface ListedTopics {
  /** Length of the whole list or of this page, depending on the broker. `null` if it is missing. */
  readonly count: number | null;
  readonly topics: readonly ListedTopic[];
  /** Number of entries of the page, including those that are not topics. */
  readonly length: number;
}

export interface TopicsPage {
  readonly published: ListedTopics | null;
  readonly subscribed: ListedTopics | null;
  /** Whether the broker reports that its limits exclude topics. */
  readonly isTruncated: boolean;
}

/** `count` must be at least 1, because the documentation does not say what 0 means. */
export async function listTopics(
  caller: ControlCaller,
  page: { readonly count: number; readonly offset: number },
): Promise<TopicsPage> {
  const data = await call(caller, 'listTopics', page);
  return {
    published: listedOf(fieldIn(data, 'publishTopics')),
    subscribed: listedOf(fieldIn(data, 'subscribeTopics')),
    isTruncated: fieldIn(data, 'truncated') === true,
  };
}

export async function getTopicLimits(caller: ControlCaller): Promise<TopicLimits> {
  return limitsOf(await call(caller, 'getLimits'));
}

/** Returns the settings of a broker that supports only the documented commands. Missing values are the defaults. */
export async function getDocumentedSettings(caller: ControlCaller): Promise<TopicSettings> {
  const { ttlSeconds, filters, ...rest } = DEFAULT_TOPIC_SETTINGS;
  const readTtl = async () => settingOf(fieldIn(await call(caller, 'getTtl'), 'ttl')) ?? ttlSeconds;
  const [ttl, list, limits] = await Promise.all([
    orDefault(readTtl(), ttlSeconds),
    orDefault(listFilters(caller), filters),
    orDefault<TopicLimits>(getTopicLimits(caller), rest),
  ]);
  return { ...rest, ...limits, ttlSeconds: ttl, filters: list, excludedFilters: [], isAlwaysOn: true };
}

/**
 * Changes settings of such a broker. The commands are sent together, but the broker executes each separately. Errors:
 * NOT_SUPPORTED_BY_BROKER if the broker has no command for the change, and its first error.
 */
export async function updateDocumentedSettings(caller: ControlCaller, change: TopicSettingsChange): Promise<void> {
  if ((change.excludedFilters ?? []).length > 0) {
    throw unsupported('excludedFilters', 'The broker has no filters that exclude topics from the recording');
  }
  if (change.isAlwaysOn === false) {
    throw unsupported('isAlwaysOn', 'The broker always records its topics, whether or not a client requests them');
  }
  const commands: readonly ControlCall[] = [
    ...(change.ttlSeconds === undefined ? [] : [{ command: 'setTtl', fields: { ttl: change.ttlSeconds } }]),
    ...(change.filters === undefined ? [] : filterCommands(await listFilters(caller), change.filters)),
    ...(await limitCommands(caller, change)),
  ];
  if (commands.length === 0) return;
  const results = await caller.callAll(TOPIC_API, commands);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/** Adds new filters before it removes old ones: with an empty list in between, all topics would be recorded. */
function filterCommands(previous: readonly string[], next: readonly string[]): ControlCall[] {
  if (next.length === 0) return previous.length === 0 ? [] : [{ command: 'clearFilters' }];
  const added = next.filter((filter) => !previous.includes(filter));
  const removed = previous.filter((filter) => !next.includes(filter));
  return [
    ...added.map((filter) => ({ command: 'addFilter', fields: { filter } })),
    ...removed.map((filter) => ({ command: 'removeFilter', fields: { filter } })),
  ];
}

/** Sends all three limits, because the documentation does not say what happens to missing ones. */
async function limitCommands(caller: ControlCaller, change: TopicSettingsChange): Promise<ControlCall[]> {
  const names = ['publishLimit', 'subscribeLimit', 'payloadLimit'] as const;
  if (names.every((name) => change[name] === undefined)) return [];
  const limits = await getTopicLimits(caller);
  const fields = Object.fromEntries(names.map((name) => [name, change[name] ?? limits[name]]));
  return [{ command: 'setLimits', fields }];
}

const unsupported = (setting: keyof TopicSettings, reason: string): ServiceError =>
  new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { api: TOPIC_API, setting, reason } });

async function orDefault<T>(reading: Promise<T>, fallback: T): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_SUPPORTED_BY_BROKER') return fallback;
    throw error;
  }
}

const listFilters = async (caller: ControlCaller): Promise<readonly string[]> =>
  filtersOf(fieldIn(await call(caller, 'listFilters'), 'filters'));

export function limitsOf(data: unknown): TopicLimits {
  const { publishLimit, subscribeLimit, payloadLimit } = DEFAULT_TOPIC_SETTINGS;
  return {
    publishLimit: settingOf(fieldIn(data, 'publishLimit')) ?? publishLimit,
    subscribeLimit: settingOf(fieldIn(data, 'subscribeLimit')) ?? subscribeLimit,
    payloadLimit: settingOf(fieldIn(data, 'payloadLimit')) ?? payloadLimit,
  };
}

/** Accepts texts, and objects with a field `filter`. */
export function filtersOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  const filters = value.slice(0, MAX_READ_FILTERS).map((entry: unknown) => topicOf(fieldIn(entry, 'filter') ?? entry));
  return [...new Set(filters.filter((filter) => filter !== null))];
}

/** The example of the documentation has the entries in `data`, its schema in `topics`. */
function listedOf(value: unknown): ListedTopics | null {
  const entries = Array.isArray(value) ? value : (fieldIn(value, 'data') ?? fieldIn(value, 'topics'));
  if (!Array.isArray(entries)) return null;
  const topics = entries.slice(0, MAX_ENTRIES).flatMap((entry: unknown) => {
    const topic = topicOf(fieldIn(entry, 'topic') ?? entry);
    return topic === null ? [] : [{ topic, payload: payloadOf(entry) }];
  });
  return { count: wholeOf(fieldIn(value, 'count')), topics, length: entries.length };
}

/** The documentation does not say how binary payloads are sent. Plugins of this service send base64. */
function payloadOf(entry: unknown): TopicPayload | null {
  const text = fieldIn(entry, 'payload');
  const base64 = fieldIn(entry, 'payloadBase64');
  const isText = typeof text === 'string';
  if (!isText && typeof base64 !== 'string') return null;
  const bytes = isText
    ? Buffer.from(text.slice(0, MAX_PAYLOAD_TEXT))
    : Buffer.from(String(base64).slice(0, 2 * MAX_PAYLOAD_TEXT), 'base64');
  const preview = bytes.subarray(0, MAX_PAYLOAD_LIMIT);
  const size = isText && text.length > MAX_PAYLOAD_TEXT ? Buffer.byteLength(text) : bytes.length;
  return { data: preview.toString('base64'), bytes: Math.max(size, wholeOf(fieldIn(entry, 'payloadBytes')) ?? 0) };
}

async function call(caller: ControlCaller, command: string, fields: Readonly<Record<string, unknown>> = {}) {
  try {
    return await caller.call(TOPIC_API, command, fields);
  } catch (error) {
    throw error instanceof ServiceError ? withIssue(error) : error;
  }
}
