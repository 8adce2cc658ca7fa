import type { TopicSettings } from './topic-settings.ts';

/** PUBLISHED: topics of messages. SUBSCRIBED: topic filters of subscriptions. */
export type TopicKind = 'PUBLISHED' | 'SUBSCRIBED';

/**
 * Characters of topics and payloads in one answer, about: a list ends with the one that reaches it, and says that there are more. So
 * 10,000 topics with 64 KiB of payload each, or with very long names, break no process on the way.
 */
export const MAX_ANSWER_CHARACTERS = 4_000_000;

/** One topic as it is recorded. Times are epoch milliseconds, true to a quarter of a second. */
export interface RecordedTopic {
  readonly topic: string;
  /** PUBLISHED: messages since it is listed. SUBSCRIBED: times that it was subscribed to. */
  readonly messages: number;
  readonly firstSeen: number;
  readonly lastSeen: number;
  /** Of the last message as it came to the recorder, or the last subscription. */
  readonly qos: 0 | 1 | 2;
  /** The last message was one that the broker keeps, as far as the broker tells: see RecorderStatus. */
  readonly retain: boolean;
  /** Null: none is kept. */
  readonly payload: TopicPayload | null;
  /** Numbers of the nodes that list it, in order, where several recordings are told as one; else absent. */
  readonly nodes?: readonly number[];
}

export interface TopicPayload {
  /** The first `payloadLimit` bytes, base64. */
  readonly data: string;
  /** Of the whole payload. */
  readonly bytes: number;
}

/** What is below one level of the tree: one of its children. */
export interface TopicLevel {
  /** Of the level; may be empty. */
  readonly name: string;
  /** The levels down to here, joined by `/`. */
  readonly topic: string;
  /** Recorded topics here and below. */
  readonly topicCount: number;
  readonly childCount: number;
  /** What is recorded of the topic itself; null: only topics below it are. */
  readonly recorded: RecordedTopic | null;
}

/**
 * Order of all lists: by level, each level by its UTF-16 code units; a topic stands before those below it. A list that changes while it
 * is paged through neither leaves out nor repeats what was there throughout.
 */
export interface FindTopics {
  readonly kind: TopicKind;
  /** Only this topic and those below it, by whole levels; a last `/` or `/#` is ignored. */
  readonly prefix?: string | undefined;
  /** Only topics that contain this; upper and lower case are the same. */
  readonly search?: string | undefined;
  /** Only topics that match this topic filter. */
  readonly filter?: string | undefined;
  /** Only those after this topic, which need not exist any more. */
  readonly after?: string | undefined;
  /** Left out at the start, of those after `after`. */
  readonly offset?: number | undefined;
  /** At most 10,000; MAX_ANSWER_CHARACTERS may make it fewer. */
  readonly first: number;
  /** Count all that match, too: with `search` or `filter` that looks at each topic. */
  readonly withCount?: boolean | undefined;
  /** False: `payload` is null in the answer, whatever is kept. Default: true. */
  readonly withPayloads?: boolean | undefined;
}

export interface TopicPage {
  readonly topics: readonly RecordedTopic[];
  readonly hasMore: boolean;
  /** Of all pages; null: not asked for. */
  readonly totalCount: number | null;
}

export interface ListLevels {
  readonly kind: TopicKind;
  /** Null: the first level. */
  readonly of: string | null;
  /** Only levels after the one of this name. */
  readonly after?: string | undefined;
  /** At most 10,000, and MAX_ANSWER_CHARACTERS. */
  readonly first: number;
  /** False: `payload` is null in the answer, whatever is kept. Default: true. */
  readonly withPayloads?: boolean | undefined;
}

export interface LevelPage {
  readonly levels: readonly TopicLevel[];
  readonly hasMore: boolean;
  readonly totalCount: number;
}

/** What became different since an answer before. */
export interface AskChanges {
  readonly kind: TopicKind;
  /** As in FindTopics. */
  readonly prefix?: string | undefined;
  /** `cursor` of the answer before; null: from now on. */
  readonly since: string | null;
  /** At most so many of each list; 1,000 at most, and MAX_ANSWER_CHARACTERS of all. */
  readonly first: number;
  /** False: `payload` is null in the answer, whatever is kept. Default: true. */
  readonly withPayloads?: boolean | undefined;
}

export interface TopicChanges {
  /** For the next question. */
  readonly cursor: string;
  /** False: what happened since then is not known any more (the recorder began anew, or nobody asked for long): all may be different. */
  readonly isContinued: boolean;
  /** Listed for the first time, or again after it had expired. */
  readonly added: readonly RecordedTopic[];
  /** Used again; those used last first. */
  readonly changed: readonly RecordedTopic[];
  /** One that was listed again since then is in `added`, too. */
  readonly expired: readonly string[];
  /** How many are not in the lists beside those that are. */
  readonly addedLeftOut: number;
  readonly changedLeftOut: number;
  readonly expiredLeftOut: number;
  readonly counts: KindCounts;
}

export interface KindCounts {
  /** Topics that are listed. */
  readonly count: number;
  /** Uses of topics that are not listed because of a limit, since the recording began. */
  readonly leftOut: number;
  /** A limit keeps topics out now, or did within the last TTL. */
  readonly isTruncated: boolean;
}

/**
 * STOPPED: nobody asks. STARTING: no answer of the broker yet. RECORDING. DENIED: the broker refuses a filter; what is allowed is
 * recorded. UNREACHABLE: what was recorded stays, and expires.
 */
export type RecorderState = 'STOPPED' | 'STARTING' | 'RECORDING' | 'DENIED' | 'UNREACHABLE';

export interface RecorderStatus {
  readonly state: RecorderState;
  /** For people: why, and what would help; null: nothing is wrong. */
  readonly reason: string | null;
  /** Epoch milliseconds since when topics are recorded; null: not yet. */
  readonly since: number | null;
  /** Filters that the broker refuses. */
  readonly deniedFilters: readonly string[];
  readonly published: KindCounts;
  /** Null: subscriptions cannot be seen here; `subscribedReason` says what would help. */
  readonly subscribed: KindCounts | null;
  readonly subscribedReason: string | null;
  /** What both trees and the payloads take. */
  readonly memoryBytes: number;
  /** PUBLISHED alone: messages recorded since it began. */
  readonly messages: number;
  /** Live messages tell whether they are kept by the broker (Retain As Published, MQTT 5); false: only those kept before it began do. */
  readonly tellsRetain: boolean;
}

/** What a recorder is asked, and what it answers. All of it can be told to another thread. */
export interface TopicQuestions {
  readonly status: { readonly question: Record<string, never>; readonly answer: RecorderStatus };
  readonly find: { readonly question: FindTopics; readonly answer: TopicPage };
  readonly levels: { readonly question: ListLevels; readonly answer: LevelPage };
  readonly topic: {
    readonly question: { readonly kind: TopicKind; readonly topic: string };
    readonly answer: RecordedTopic | null;
  };
  readonly changes: { readonly question: AskChanges; readonly answer: TopicChanges };
}

/**
 * Records the topics of one broker. It begins with the first question or with settings that have it always on, and stops when it was
 * not asked for a while: what was recorded is gone then. The first answer waits for the broker's answer to the subscriptions, and for
 * the messages that it keeps.
 *
 * Errors of `ask`: NOT_SUPPORTED_BY_BROKER for SUBSCRIBED where subscriptions cannot be seen (`info.reason`), BROKER_UNREACHABLE when
 * the recorder was closed, or nothing was recorded yet and the broker is away; INVALID for a `filter` that is none (with its path).
 */
export interface TopicRecorder {
  /** Takes effect at once, for what is recorded already too. */
  apply(settings: TopicSettings): Promise<void>;
  ask<Type extends keyof TopicQuestions>(
    type: Type,
    question: TopicQuestions[Type]['question'],
  ): Promise<TopicQuestions[Type]['answer']>;
  close(): Promise<void>;
}
