import { invalid, ServiceError } from '../../../platform/errors.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { TopicPayload } from '../model/topic-recorder.ts';
import { DEFAULT_TOPIC_SETTINGS, MAX_PAYLOAD_LIMIT, type TopicSettings } from '../model/topic-settings.ts';
import { settingOf, told, topicOf, wholeOf } from './topic-answers.ts';

/**
 * The documented commands of the topic control API that read. For the commands that write, see documented-settings.ts.
 *
 * Errors in addition to those of the caller: INVALID (with `info.issues` if the text contains them), NOT_FOUND (no such
 * filter), and BROKER_REJECTED with the broker's text. Responses may come from any broker. Unreadable values are
 * dropped or replaced by defaults.
 */
export const TOPIC_API = 'cedalo/topictree';

/** Maximum number of entries that are read from one response. */
const MAX_ENTRIES = 1_000_000;
/** Maximum number of characters that are read from a payload. */
const MAX_PAYLOAD_TEXT = 65_536;
/** Maximum number of filters that are read from a response. */
const MAX_FILTERS_TOLD = 10_000;

export type TopicLimits = Pick<TopicSettings, 'publishLimit' | 'subscribeLimit' | 'payloadLimit'>;

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

/** One page of both lists. A list is `null` if the broker does not return it. */
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
    published: listedOf(told(data, 'publishTopics')),
    subscribed: listedOf(told(data, 'subscribeTopics')),
    isTruncated: told(data, 'truncated') === true,
  };
}

/** Returns the TTL in seconds. */
export async function getTopicTtl(caller: ControlCaller): Promise<number> {
  return settingOf(told(await call(caller, 'getTtl'), 'ttl')) ?? DEFAULT_TOPIC_SETTINGS.ttlSeconds;
}

export async function listTopicFilters(caller: ControlCaller): Promise<readonly string[]> {
  return filtersOf(told(await call(caller, 'listFilters'), 'filters'));
}

export async function getTopicLimits(caller: ControlCaller): Promise<TopicLimits> {
  return limitsOf(await call(caller, 'getLimits'));
}

export function limitsOf(data: unknown): TopicLimits {
  const { publishLimit, subscribeLimit, payloadLimit } = DEFAULT_TOPIC_SETTINGS;
  return {
    publishLimit: settingOf(told(data, 'publishLimit')) ?? publishLimit,
    subscribeLimit: settingOf(told(data, 'subscribeLimit')) ?? subscribeLimit,
    payloadLimit: settingOf(told(data, 'payloadLimit')) ?? payloadLimit,
  };
}

/** Accepts texts, and objects with a field `filter`. */
export function filtersOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  const filters = value.slice(0, MAX_FILTERS_TOLD).map((entry: unknown) => topicOf(told(entry, 'filter') ?? entry));
  return [...new Set(filters.filter((filter) => filter !== null))];
}

/** The example of the documentation has the entries in `data`, its schema in `topics`. */
function listedOf(value: unknown): ListedTopics | null {
  const entries = Array.isArray(value) ? value : (told(value, 'data') ?? told(value, 'topics'));
  if (!Array.isArray(entries)) return null;
  const topics = entries.slice(0, MAX_ENTRIES).flatMap((entry: unknown) => {
    const topic = topicOf(told(entry, 'topic') ?? entry);
    return topic === null ? [] : [{ topic, payload: payloadOf(entry) }];
  });
  return { count: wholeOf(told(value, 'count')), topics, length: entries.length };
}

/**
 * Returns a payload as bytes. The documentation does not say how binary payloads are sent. Plugins of this service send
 * base64.
 */
function payloadOf(entry: unknown): TopicPayload | null {
  const text = told(entry, 'payload');
  const base64 = told(entry, 'payloadBase64');
  const isText = typeof text === 'string';
  if (!isText && typeof base64 !== 'string') return null;
  const bytes = isText
    ? Buffer.from(text.slice(0, MAX_PAYLOAD_TEXT))
    : Buffer.from(String(base64).slice(0, 2 * MAX_PAYLOAD_TEXT), 'base64');
  const cut = bytes.subarray(0, MAX_PAYLOAD_LIMIT);
  const whole = isText && text.length > MAX_PAYLOAD_TEXT ? Buffer.byteLength(text) : bytes.length;
  return { data: cut.toString('base64'), bytes: Math.max(whole, wholeOf(told(entry, 'payloadBytes')) ?? 0) };
}

async function call(caller: ControlCaller, command: string, fields: Readonly<Record<string, unknown>> = {}) {
  try {
    return await caller.call(TOPIC_API, command, fields);
  } catch (error) {
    throw error instanceof ServiceError ? withIssue(error) : error;
  }
}

/** Restores the issue of a refusal by a plugin of this service, because a response over MQTT contains only the text. */
export function withIssue(error: ServiceError): ServiceError {
  if (error.code !== 'INVALID' || error.info?.issues !== undefined) return error;
  const [, path, reason] = /^Invalid (\/\S*): (.+)$/s.exec(String(error.info?.brokerError)) ?? [];
  return path === undefined || reason === undefined ? error : invalid([{ path, reason }]);
}
