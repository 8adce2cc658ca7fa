import type { ReplayProgress, ReplayState } from '../../../data-plane/streams/model/stream-replay.ts';
import type {
  Reason,
  StorageState,
  StreamCounters,
  StreamState,
  StreamStorage,
} from '../../../data-plane/streams/model/stream-report.ts';
import { builder } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { knownTimeField, timeField } from '../../../gateway/graphql/time-field.ts';

export const StreamStateType = describedEnum<StreamState>('StreamState', 'The state of a stream.', {
  RUNNING: 'The stream receives the messages of its source.',
  INACTIVE: 'The stream is switched off.',
  WAITING: 'The broker is not connected, or the subscription is in progress. The stream continues by itself.',
  REFUSED: 'The broker refuses the subscription of the source.',
  FAILED: 'The stream cannot run, or its messages cannot be stored.',
});

const StorageStateType = describedEnum<StorageState>('StreamStorageState', 'Whether messages of a stream are stored.', {
  OFF: 'The stream does not store messages.',
  STORING: 'Messages are stored.',
  FULL: 'The limit of disk use is reached. Messages are not stored until space is free again. The stream itself continues.',
  FAILED: 'The disk failed.',
});

const ReplayStateType = describedEnum<ReplayState>('StreamReplayState', 'The state of a replay.', {
  RUNNING: 'Messages are published.',
  PAUSED:
    'The broker is not connected, the database does not respond, or the streams of the broker start in another process. The replay then continues at the same position.',
  DONE: 'All messages were published.',
  STOPPED: 'The replay was stopped.',
  FAILED: 'The replay cannot continue.',
});

const StreamReasonType = builder.objectRef<Reason>('StreamReason').implement({
  description: 'Why a stream filtered or lost a message. Contains no part of the payload.',
  fields: (t) => ({
    at: knownTimeField(t, 'The time.', ({ at }) => at),
    reason: t.exposeString('reason', { description: 'The reason as text.' }),
  }),
});

export const StreamCountersType = builder.objectRef<StreamCounters>('StreamCounters').implement({
  description: 'Numbers of messages since the stream was started.',
  fields: (t) => ({
    since: knownTimeField(t, 'When the stream was started.', ({ since }) => since),
    received: t.expose('received', { type: 'SafeInt', description: 'Received messages.' }),
    published: t.expose('published', {
      type: 'SafeInt',
      description: 'Messages published on the target topic and accepted by the broker.',
    }),
    stored: t.expose('stored', { type: 'SafeInt', description: 'Messages stored on disk.' }),
    filtered: t.expose('filtered', {
      type: 'SafeInt',
      description: 'Messages filtered by `where` or because a selected path is missing.',
    }),
    failed: t.expose('failed', {
      type: 'SafeInt',
      description: 'Messages that are not JSON, have no number where one is required, or were refused by the broker.',
    }),
    notStored: t.expose('notStored', {
      type: 'SafeInt',
      description: 'Messages not stored because the limit of disk use is reached or the disk failed.',
    }),
    replayed: t.expose('replayed', { type: 'SafeInt', description: 'Messages published by replays.' }),
    lastReceived: timeField(
      t,
      'When the last message was received. Null if none was received.',
      ({ lastReceived }) => lastReceived,
    ),
    lastError: t.expose('lastError', {
      description: 'Why the last message was counted in `failed` or `notStored`. Null if there was none.',
      type: StreamReasonType,
      nullable: true,
    }),
    lastFiltered: t.expose('lastFiltered', {
      description: 'Which unmet condition or missing path filtered the last message. Null if there was none.',
      type: StreamReasonType,
      nullable: true,
    }),
  }),
});

export const StreamStorageType = builder.objectRef<StreamStorage>('StreamStorage').implement({
  description: 'The stored messages of a stream.',
  fields: (t) => ({
    state: t.expose('state', { description: 'Whether further messages are stored.', type: StorageStateType }),
    messages: t.expose('messages', { type: 'SafeInt', description: 'Number of stored messages.' }),
    bytes: t.expose('bytes', { type: 'SafeInt', description: 'Size on disk in bytes.' }),
    oldest: timeField(t, 'When the oldest message was received. Null if none is stored.', ({ oldest }) => oldest),
    newest: timeField(t, 'When the newest message was received. Null if none is stored.', ({ newest }) => newest),
    problem: t.exposeString('problem', {
      description: 'Why the state is FULL or FAILED, and how to correct it. Null in other states.',
      nullable: true,
    }),
  }),
});

export const StreamReplayType = builder.objectRef<ReplayProgress>('StreamReplay').implement({
  description: 'A replay of the stored messages of a stream.',
  fields: (t) => ({
    jobId: t.exposeID('jobId', {
      description:
        'The id of its `job`, which continues in another process of this service, or after a restart. Null if the replay ends with its process: those of embedded brokers, and the sums over several nodes of a cluster, where each node has a job.',
      nullable: true,
    }),
    state: t.expose('state', { description: 'The state of the replay.', type: ReplayStateType }),
    topic: t.string({
      description: 'Topic on which the messages are published.',
      resolve: ({ request }) => request.topic,
    }),
    from: timeField(
      t,
      'Messages stored at this time or later. Null: from the first message.',
      ({ request }) => request.from,
    ),
    to: timeField(
      t,
      'Messages stored at this time or earlier. Null: to the last message.',
      ({ request }) => request.to,
    ),
    limit: t.field({
      type: 'SafeInt',
      description: 'Maximum number of messages. Null: all.',
      nullable: true,
      resolve: ({ request }) => request.limit,
    }),
    speed: t.float({
      description: 'Factor of the original speed: 2 is twice as fast. Null: without pauses.',
      nullable: true,
      resolve: ({ request: { speed } }) => (speed === 'fastest' ? null : speed),
    }),
    isReverse: t.boolean({
      description: 'Whether the newest message is published first.',
      resolve: ({ request }) => request.reverse,
    }),
    published: t.expose('published', { type: 'SafeInt', description: 'Messages that the broker has accepted so far.' }),
    total: t.expose('total', { type: 'SafeInt', description: 'Messages to publish when the replay started.' }),
    position: timeField(
      t,
      'When the last published message was stored. Null if none was published yet.',
      ({ position }) => position,
    ),
    startedAt: knownTimeField(t, 'When the replay started.', ({ startedAt }) => startedAt),
    endedAt: timeField(t, 'When the replay ended. Null if it has not ended.', ({ endedAt }) => endedAt),
    problem: t.exposeString('problem', {
      description: 'Why the replay is PAUSED or FAILED. Null in other states.',
      nullable: true,
    }),
  }),
});
