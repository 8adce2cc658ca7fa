import { invalid, ServiceError } from '../../../platform/errors.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { TopicPayload } from '../model/topic-recorder.ts';
import { DEFAULT_TOPIC_SETTINGS, MAX_PAYLOAD_LIMIT, type TopicSettings } from '../model/topic-settings.ts';
import { settingOf, told, topicOf, wholeOf } from './topic-answers.ts';

/**
 * The control API of what topics there are, by its documented commands that read; those that write travel together, see documented-settings.ts.
 *
 * Errors beside the caller's own: INVALID (with `info.issues` where the text tells what is), NOT_FOUND (no such filter), BROKER_REJECTED
 * with the broker's text. Answers are any broker's: what cannot be read is left out, or as by default.
 */
export const TOPIC_API = 'cedalo/topictree';

/** Most entries of one answer that are looked at. */
const MAX_ENTRIES = 1_000_000;
/** Characters of a payload that are taken. */
const MAX_PAYLOAD_TEXT = 65_536;
/** Filters that a broker may tell of. */
const MAX_FILTERS_TOLD = 10_000;

export type TopicLimits = Pick<TopicSettings, 'publishLimit' | 'subscribeLimit' | 'payloadLimit'>;

export interface ListedTopic {
  readonly topic: string;
  readonly payload: TopicPayload | null;
}

export interface ListedTopics {
  /** Of all, or of this page: brokers differ. Null: not told. */
  readonly count: number | null;
  readonly topics: readonly ListedTopic[];
  /** Entries of the page: those that are no topics, too. */
  readonly length: number;
}

/** One page of both lists; null: the broker tells none of the kind. */
export interface TopicsPage {
  readonly published: ListedTopics | null;
  readonly subscribed: ListedTopics | null;
  /** The broker says that its limits keep topics out. */
  readonly isTruncated: boolean;
}

/** `count` is at least 1: what brokers do for 0 is not documented. */
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

/** In seconds. */
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

/** Texts, or objects that have one as `filter`. */
export function filtersOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  const filters = value.slice(0, MAX_FILTERS_TOLD).map((entry: unknown) => topicOf(told(entry, 'filter') ?? entry));
  return [...new Set(filters.filter((filter) => filter !== null))];
}

/** The example of the documentation has entries in `data`, its schema names in `topics`. */
function listedOf(value: unknown): ListedTopics | null {
  const entries = Array.isArray(value) ? value : (told(value, 'data') ?? told(value, 'topics'));
  if (!Array.isArray(entries)) return null;
  const topics = entries.slice(0, MAX_ENTRIES).flatMap((entry: unknown) => {
    const topic = topicOf(told(entry, 'topic') ?? entry);
    return topic === null ? [] : [{ topic, payload: payloadOf(entry) }];
  });
  return { count: wholeOf(told(value, 'count')), topics, length: entries.length };
}

/** As bytes: how what is no text is told is not documented, but by plugins of ours as base64. */
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

/** What a plugin of ours refused over MQTT, where there is only the text. */
export function withIssue(error: ServiceError): ServiceError {
  if (error.code !== 'INVALID' || error.info?.issues !== undefined) return error;
  const [, path, reason] = /^Invalid (\/\S*): (.+)$/s.exec(String(error.info?.brokerError)) ?? [];
  return path === undefined || reason === undefined ? error : invalid([{ path, reason }]);
}
