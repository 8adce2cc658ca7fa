import type { ListOrder } from '../../../platform/sorting/places.ts';
import type { TopicSettings } from './topic-settings.ts';

/** PUBLISHED: topics of messages. SUBSCRIBED: topic filters of subscriptions. */
export type TopicKind = 'PUBLISHED' | 'SUBSCRIBED';

/** Approximate maximum number of characters of one response. The item of a list that reaches it is the last one. */
export const MAX_RESPONSE_CHARACTERS = 4_000_000;

/** A recorded topic. Times are epoch milliseconds with an error of at most 250 ms. */
export interface RecordedTopic {
  readonly topic: string;
  /** PUBLISHED: number of messages since the topic was listed. SUBSCRIBED: number of subscriptions to it. */
  readonly messages: number;
  readonly firstSeen: number;
  readonly lastSeen: number;
  /** Quality of service of the last message as the recorder received it, or of the last subscription. */
  readonly qos: 0 | 1 | 2;
  /** Whether the last message was a retained message, as far as the broker reports it (see RecorderStatus). */
  readonly retain: boolean;
  readonly payload: TopicPayload | null;
  /** Numbers of the nodes that list the topic, in order. Absent unless several recordings are combined. */
  readonly nodes?: readonly number[];
}

export interface TopicPayload {
  /** The first `payloadLimit` bytes, in base64. */
  readonly data: string;
  readonly bytes: number;
}

export interface TopicLevel {
  /** May be empty. */
  readonly name: string;
  /** All levels from the first one to this one, joined by `/`. */
  readonly topic: string;
  /** Number of recorded topics at and below this level. */
  readonly topicCount: number;
  readonly childCount: number;
  /** The recorded topic of this level itself. `null` if only topics below it are recorded. */
  readonly recorded: RecordedTopic | null;
}

export const TOPIC_SORT_FIELDS = ['TOPIC', 'LAST_SEEN', 'MESSAGES'] as const;

export type TopicOrder = ListOrder<(typeof TOPIC_SORT_FIELDS)[number]>;

/**
 * Lists are in the order of the levels, each ordered by UTF-16 code units. If the list changes between two pages,
 * topics that are listed the whole time are neither skipped nor repeated.
 */
export interface FindTopics {
  readonly kind: TopicKind;
  readonly prefix?: string | undefined;
  /** Only topics that contain this text. Upper and lower case are equal. */
  readonly search?: string | undefined;
  readonly filter?: string | undefined;
  /** The last topic of the previous page; with `order` its cursor (`topic-order.ts`). */
  readonly after?: string | undefined;
  /** Default: by topic, ascending. Any other order visits every topic. A cursor of another order is INVALID. */
  readonly order?: TopicOrder | undefined;
  readonly offset?: number | undefined;
  /** Page size, at most 10,000. MAX_RESPONSE_CHARACTERS may shorten the page. */
  readonly first: number;
  /** Whether all matching topics are counted. With `search` or `filter`, this visits every topic. */
  readonly withCount?: boolean | undefined;
  /** Whether payloads are returned. If false, `payload` is `null`. Default: true. */
  readonly withPayloads?: boolean | undefined;
}

export interface TopicPage {
  readonly topics: readonly RecordedTopic[];
  readonly hasMore: boolean;
  readonly totalCount: number | null;
}

export interface ListLevels {
  readonly kind: TopicKind;
  /** The parent level. `null` for the first level. */
  readonly of: string | null;
  /** Only levels whose names come after this one. */
  readonly after?: string | undefined;
  readonly first: number;
  readonly withPayloads?: boolean | undefined;
}

export interface LevelPage {
  readonly levels: readonly TopicLevel[];
  readonly hasMore: boolean;
  readonly totalCount: number;
}

/** Requests the changes since a previous response. */
export interface ReadChanges {
  readonly kind: TopicKind;
  readonly prefix?: string | undefined;
  /** `cursor` of the previous response. `null` to start from now. */
  readonly since: string | null;
  /** Maximum length of each list, at most 1,000. MAX_RESPONSE_CHARACTERS bounds all lists together. */
  readonly first: number;
  readonly withPayloads?: boolean | undefined;
}

/** Changed topics. If a list is shortened, `…LeftOut` is the number of further topics. */
export interface TopicChangeLists {
  /** Topics that were listed for the first time, or again after they had expired. */
  readonly added: readonly RecordedTopic[];
  /** Topics that were used again, the most recently used first. */
  readonly changed: readonly RecordedTopic[];
  /** Topics that expired. A topic that was listed again since then is also in `added`. */
  readonly expired: readonly string[];
  readonly addedLeftOut: number;
  readonly changedLeftOut: number;
  readonly expiredLeftOut: number;
}

export const NO_TOPIC_CHANGES: TopicChangeLists = {
  added: [],
  changed: [],
  expired: [],
  addedLeftOut: 0,
  changedLeftOut: 0,
  expiredLeftOut: 0,
};

export interface TopicChanges extends TopicChangeLists {
  readonly cursor: string;
  /** False if the recorder restarted, or if changes were not requested for a long time: all topics may have changed. */
  readonly isContinued: boolean;
  readonly counts: KindCounts;
}

export interface KindCounts {
  readonly count: number;
  /** Uses of topics that are not listed because of a limit, since the recording began. */
  readonly leftOut: number;
  /** Whether a limit excludes topics now, or did within the last TTL. */
  readonly isTruncated: boolean;
}

/**
 * - STOPPED: the recorder is idle.
 * - STARTING: the broker has not yet responded.
 * - RECORDING: all filters are subscribed.
 * - DENIED: the broker refuses a filter. Topics of the allowed filters are recorded.
 * - UNREACHABLE: the broker cannot be reached. Recorded topics stay listed until they expire.
 */
export type RecorderState = 'STOPPED' | 'STARTING' | 'RECORDING' | 'DENIED' | 'UNREACHABLE';

export interface RecorderStatus {
  readonly state: RecorderState;
  /** A text for users: the cause, and what would help. `null` if there is no problem. */
  readonly reason: string | null;
  /** Start of the recording in epoch milliseconds. `null` if it has not started. */
  readonly since: number | null;
  /** Epoch milliseconds until which uses are known: now while it records. `null` if nothing is known. */
  readonly asOf: number | null;
  /**
   * Whether all topics that were used within the TTL are listed: false for a TTL after the recording began, also in
   * another process, and after the connection was lost. `null` if the broker records its topics itself.
   */
  readonly isComplete: boolean | null;
  readonly deniedFilters: readonly string[];
  readonly published: KindCounts;
  /** `null` if subscriptions cannot be observed at this broker. `subscribedReason` says what would help. */
  readonly subscribed: KindCounts | null;
  readonly subscribedReason: string | null;
  readonly memoryBytes: number;
  /** Number of recorded messages since the recording began. PUBLISHED only. */
  readonly messages: number;
  /** Whether live messages carry the RETAIN flag (Retain As Published, MQTT 5). */
  readonly tellsRetain: boolean;
}

/** Requests to a recorder, by type. Requests and responses can be sent to another thread. */
export interface TopicRequests {
  readonly status: Record<string, never>;
  readonly find: FindTopics;
  readonly levels: ListLevels;
  readonly topic: { readonly kind: TopicKind; readonly topic: string };
  readonly changes: ReadChanges;
}

export interface TopicResponses {
  readonly status: RecorderStatus;
  readonly find: TopicPage;
  readonly levels: LevelPage;
  readonly topic: RecordedTopic | null;
  readonly changes: TopicChanges;
}

/**
 * Errors:
 * - NOT_SUPPORTED_BY_BROKER for SUBSCRIBED if subscriptions cannot be observed (`info.reason`).
 * - BROKER_UNREACHABLE if the recorder is closed, or if nothing is recorded yet and the broker is disconnected.
 * - INVALID, with the path, if `filter` is not a valid topic filter.
 */
export type QueryTopics = <Type extends keyof TopicRequests>(
  type: Type,
  request: TopicRequests[Type],
  /** Called between the slices of a long search. It may throw to cancel the search. */
  assertWanted?: () => void,
) => Promise<TopicResponses[Type]>;

/**
 * Records the topics of one broker from the first request, or while the settings have `isAlwaysOn`. Without requests,
 * it stops and discards the topics. The first response waits for the SUBACK and the retained messages.
 */
export interface TopicRecorder {
  /** Takes effect immediately, also for topics that are already recorded. */
  apply(settings: TopicSettings): Promise<void>;
  readonly query: QueryTopics;
  close(): Promise<void>;
}
