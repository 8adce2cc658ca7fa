import type { ListConnection } from '../../gateway/paging.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';
import type { KindCounts, RecordedTopic, RecorderStatus, TopicKind, TopicLevel } from './model/topic-recorder.ts';

/** Where topics are recorded: at a broker, or at one of its nodes. */
export interface TopicPlace {
  readonly broker: BrokerRecord;
  /** Null: the broker has no nodes. */
  readonly nodeId: number | null;
}

/** The nodes of a cluster that have messages of their own. */
export interface TopicNodes {
  readonly places: readonly (TopicPlace & { readonly nodeId: number })[];
  /** Where no node is named their topics are told as one tree; false: as a tree for each. */
  readonly isMerged: boolean;
}

/** What is known of a recording at one moment. */
export interface TopicTreeView extends TopicPlace {
  readonly status: RecorderStatus;
  /** Null: the broker does not tell, or records its topics itself. */
  readonly droppedByBroker: number | null;
}

export interface TopicView extends TopicPlace {
  readonly recorded: RecordedTopic;
}

export interface LevelView extends TopicPlace {
  readonly kind: TopicKind;
  readonly level: TopicLevel;
}

export interface TopicConnection extends Omit<ListConnection<TopicView>, 'totalCount'> {
  /** Null: not asked for. */
  readonly totalCount: number | null;
}

/** Null: subscriptions cannot be seen there. */
export const countsOf = ({ status }: TopicTreeView, kind: TopicKind): KindCounts | null =>
  kind === 'PUBLISHED' ? status.published : status.subscribed;

/** Of a kind, or of all that can be seen. */
export const kindsIn = (tree: TopicTreeView, kind: TopicKind | null | undefined): KindCounts[] =>
  (kind == null ? (['PUBLISHED', 'SUBSCRIBED'] as const) : [kind]).flatMap((one) => countsOf(tree, one) ?? []);

/** For people: what is wrong, and what would help; null: nothing is. */
export function reasonOf({ status: { reason }, droppedByBroker }: TopicTreeView): string | null {
  if (!droppedByBroker) return reason;
  const dropped = `The broker dropped at least ${droppedByBroker} messages, for clients that read too slowly, since the recording began: if this service was one of them, topics are missing`;
  return reason === null ? dropped : `${reason}. ${dropped}`;
}
