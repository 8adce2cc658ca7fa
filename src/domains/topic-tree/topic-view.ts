import type {
  KindCounts,
  RecordedTopic,
  RecorderStatus,
  TopicKind,
  TopicLevel,
} from '../../data-plane/topic-tree/model/topic-recorder.ts';
import type { ListConnection } from '../../platform/paging.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';

/** Where topics are recorded: at a broker, or at one of its nodes. */
export interface TopicTreeRef {
  readonly broker: BrokerRecord;
  /** `null` if the broker has no nodes. */
  readonly nodeId: number | null;
}

/** The nodes of a cluster that have their own messages. */
export interface TopicNodes {
  readonly refs: readonly (TopicTreeRef & { readonly nodeId: number })[];
  /** Whether the topics of all nodes are combined into one tree unless a node is given. */
  readonly isMerged: boolean;
}

/** The state of a recording at one time. */
export interface TopicTreeView extends TopicTreeRef, RecorderStatus {
  /** `null` if the broker does not report the number, or records its topics itself. */
  readonly droppedByBroker: number | null;
}

export interface TopicView extends TopicTreeRef, RecordedTopic {
  readonly kind: TopicKind;
}

export interface LevelView extends TopicTreeRef, TopicLevel {
  readonly kind: TopicKind;
}

export interface TopicConnection extends Omit<ListConnection<TopicView>, 'totalCount'> {
  readonly totalCount: number | null;
}

/** Returns `null` if subscriptions cannot be observed at the broker. */
export const countsOf = ({ published, subscribed }: TopicTreeView, kind: TopicKind): KindCounts | null =>
  kind === 'PUBLISHED' ? published : subscribed;

/** Returns the counts of one kind, or of all kinds that can be observed. */
export const kindsIn = (tree: TopicTreeView, kind: TopicKind | null | undefined): KindCounts[] =>
  (kind == null ? (['PUBLISHED', 'SUBSCRIBED'] as const) : [kind]).flatMap((one) => countsOf(tree, one) ?? []);

export function reasonOf({ reason, droppedByBroker }: TopicTreeView): string | null {
  if (!droppedByBroker) return reason;
  const dropped = `The broker dropped at least ${droppedByBroker} messages, for clients that read too slowly, since the recording began: if this service was one of them, topics are missing`;
  return reason === null ? dropped : `${reason}. ${dropped}`;
}
