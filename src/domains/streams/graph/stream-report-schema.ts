import { builder } from '../../../gateway/graphql/builder.ts';
import type { ReplayProgress, ReplayState } from '../model/stream-replay.ts';
import type { Reason, StorageState, StreamCounters, StreamState, StreamStorage } from '../model/stream-report.ts';

/* Types of a running stream: state, counters, storage and replay. */

export const StreamStateType = builder.enumType('StreamState', {
  description: 'Whether a stream works.',
  values: {
    RUNNING: { description: 'It gets the messages of its source.' },
    INACTIVE: { description: 'It is switched off.' },
    WAITING: { description: 'The broker is away, or its source is being subscribed; it goes on by itself.' },
    REFUSED: { description: 'The broker does not let this service subscribe to its source.' },
    FAILED: { description: 'It cannot run, or its messages cannot be stored.' },
  } as const satisfies Record<StreamState, object>,
});

const StorageStateType = builder.enumType('StreamStorageState', {
  description: 'Whether messages of a stream are stored.',
  values: {
    OFF: { description: 'It is not asked to.' },
    STORING: { description: 'They are.' },
    FULL: {
      description: 'The bound on disk use is reached: they are not, until there is room. The stream itself goes on.',
    },
    FAILED: { description: 'The disk failed.' },
  } as const satisfies Record<StorageState, object>,
});

const ReplayStateType = builder.enumType('StreamReplayState', {
  description: 'What has become of a replay.',
  values: {
    RUNNING: { description: 'Messages are published.' },
    PAUSED: { description: 'The broker is away; it goes on where it was.' },
    DONE: { description: 'All were published.' },
    STOPPED: { description: 'Somebody ended it.' },
    FAILED: { description: 'It could not go on.' },
  } as const satisfies Record<ReplayState, object>,
});

const moment = (at: number | null): Date | null => (at === null ? null : new Date(at));

const StreamReasonType = builder.objectRef<Reason>('StreamReason').implement({
  description: 'Why a message was left out by a stream, or lost to it. Holds nothing of its payload.',
  fields: (t) => ({
    at: t.field({ description: 'When.', type: 'DateTime', resolve: ({ at }) => new Date(at) }),
    reason: t.exposeString('reason', { description: 'For people.' }),
  }),
});

export const StreamCountersType = builder.objectRef<StreamCounters>('StreamCounters').implement({
  description: 'Messages since a stream began to run where it runs; Float, because counters pass 2^31.',
  fields: (t) => ({
    since: t.field({ description: 'When it began.', type: 'DateTime', resolve: ({ since }) => new Date(since) }),
    received: t.exposeFloat('received', { description: 'That came in.' }),
    published: t.exposeFloat('published', { description: 'Published on the target topic, and taken by the broker.' }),
    stored: t.exposeFloat('stored', { description: 'On disk.' }),
    filtered: t.exposeFloat('filtered', {
      description: 'Left out by `where`, or because a selected path was missing.',
    }),
    failed: t.exposeFloat('failed', {
      description: 'No JSON, no number where one was needed, or refused by the broker.',
    }),
    notStored: t.exposeFloat('notStored', {
      description: 'Not stored, because the disk use was at its bound or the disk failed.',
    }),
    replayed: t.exposeFloat('replayed', { description: 'Published by replays.' }),
    lastReceived: t.field({
      description: 'When the last message came. Null: none did.',
      type: 'DateTime',
      nullable: true,
      resolve: ({ lastReceived }) => moment(lastReceived),
    }),
    lastError: t.field({
      description: 'The last that counted as failed or not stored.',
      type: StreamReasonType,
      nullable: true,
      resolve: ({ lastError }) => lastError,
    }),
    lastFiltered: t.field({
      description: 'The last that counted as filtered: a condition that was not met, or a path that was missing.',
      type: StreamReasonType,
      nullable: true,
      resolve: ({ lastFiltered }) => lastFiltered,
    }),
  }),
});

export const StreamStorageType = builder.objectRef<StreamStorage>('StreamStorage').implement({
  description: 'The stored messages of a stream.',
  fields: (t) => ({
    state: t.expose('state', { description: 'Whether more are stored.', type: StorageStateType }),
    messages: t.exposeFloat('messages', { description: 'How many there are.' }),
    bytes: t.exposeFloat('bytes', { description: 'What they take on disk.' }),
    oldest: t.field({
      description: 'When the oldest came. Null: none is stored.',
      type: 'DateTime',
      nullable: true,
      resolve: ({ oldest }) => moment(oldest),
    }),
    newest: t.field({
      description: 'When the newest came. Null: none is stored.',
      type: 'DateTime',
      nullable: true,
      resolve: ({ newest }) => moment(newest),
    }),
    problem: t.exposeString('problem', {
      description: 'Why the state is FULL or FAILED, and what would help.',
      nullable: true,
    }),
  }),
});

export const StreamReplayType = builder.objectRef<ReplayProgress>('StreamReplay').implement({
  description: 'A replay of the stored messages of a stream.',
  fields: (t) => ({
    state: t.expose('state', { description: 'What has become of it.', type: ReplayStateType }),
    topic: t.string({ description: 'Where the messages are published.', resolve: ({ request }) => request.topic }),
    from: t.field({
      description: 'Of this moment or later. Null: from the first one.',
      type: 'DateTime',
      nullable: true,
      resolve: ({ request }) => moment(request.from),
    }),
    to: t.field({
      description: 'Of this moment or earlier. Null: to the last one.',
      type: 'DateTime',
      nullable: true,
      resolve: ({ request }) => moment(request.to),
    }),
    limit: t.float({
      description: 'So many at most. Null: all.',
      nullable: true,
      resolve: ({ request }) => request.limit,
    }),
    speed: t.float({
      description: '1 is as the messages came, 2 twice as fast. Null: without pauses.',
      nullable: true,
      resolve: ({ request: { speed } }) => (speed === 'fastest' ? null : speed),
    }),
    reverse: t.boolean({ description: 'The newest first.', resolve: ({ request }) => request.reverse }),
    published: t.exposeFloat('published', { description: 'Messages that the broker has taken so far.' }),
    total: t.exposeFloat('total', { description: 'Messages that there were to publish when it began.' }),
    position: t.field({
      description: 'When the message that was published last had been stored. Null: none was published yet.',
      type: 'DateTime',
      nullable: true,
      resolve: ({ position }) => moment(position),
    }),
    startedAt: t.field({
      description: 'When it began.',
      type: 'DateTime',
      resolve: ({ startedAt }) => new Date(startedAt),
    }),
    endedAt: t.field({
      description: 'Null: it has not ended.',
      type: 'DateTime',
      nullable: true,
      resolve: ({ endedAt }) => moment(endedAt),
    }),
    problem: t.exposeString('problem', { description: 'Why it is PAUSED or FAILED.', nullable: true }),
  }),
});
