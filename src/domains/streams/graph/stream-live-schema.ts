import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { guarded } from '../../../gateway/graphql/guarded.ts';
import { eventFields, partsLeftField, resumeArgument } from '../../../gateway/graphql/live-event.ts';
import { stateIn } from '../../../gateway/live/broadcast.ts';
import type { ReplayEvent } from '../live/replay-feed.ts';
import type { StreamListEvent } from '../live/stream-list-feed.ts';
import { type StreamView, streamView } from '../stream-view.ts';
import { StreamReplayType } from './stream-report-schema.ts';
import { Stream } from './stream-schema.ts';

const CONNECTED =
  'SNAPSHOT, CHANGE: whether this service is connected to the broker; while not, what was told last stays.';

const StreamReplayEvent = builder.objectRef<ReplayEvent>('StreamReplayEvent').implement({
  description: 'First the replay as it is, then one event for each change, at most ten a second.',
  fields: (t) => ({
    ...eventFields(t, (event) => event),
    replaying: t.boolean({
      description: 'SNAPSHOT, CHANGE: whether a replay runs.',
      nullable: true,
      resolve: (event) => stateIn(event)?.replaying ?? null,
    }),
    replay: t.field({
      description:
        'SNAPSHOT, CHANGE: the one that runs, or the last one. Null: there was none, or the broker runs the stream itself and tells no more than `replaying`.',
      type: StreamReplayType,
      nullable: true,
      resolve: (event) => stateIn(event)?.replay ?? null,
    }),
    isConnected: t.boolean({
      description: CONNECTED,
      nullable: true,
      resolve: (event) => stateIn(event)?.isConnected ?? null,
    }),
  }),
});

interface SeenEvent {
  readonly event: StreamListEvent;
  readonly streams: readonly StreamView[];
}

/** Assumed number of streams per event, for the cost of a subscription. */
const USUAL_EVENT = 50;

const StreamsEvent = builder.objectRef<SeenEvent>('StreamsEvent').implement({
  description: 'First all streams of a broker as they are, then those that became different, at most once a second.',
  fields: (t) => ({
    ...eventFields(t, ({ event }) => event),
    ...partsLeftField(t, ({ event }) => event),
    streams: t.field({
      description:
        'SNAPSHOT: all, or the first of them (see `partsLeft`). CHANGE: new ones, and those with other counters, states or settings.',
      type: [Stream],
      complexity: { field: 1, multiplier: USUAL_EVENT },
      resolve: ({ streams }) => [...streams],
    }),
    removed: t.stringList({
      description: 'CHANGE: names of streams that are gone.',
      resolve: ({ event }) => [...(stateIn(event)?.removed ?? [])],
    }),
    isConnected: t.boolean({
      description: CONNECTED,
      nullable: true,
      resolve: ({ event }) => stateIn(event)?.isConnected ?? null,
    }),
  }),
});

builder.subscriptionFields((t) => ({
  streamReplay: t.field({
    description:
      'How the replay of a stream goes, and each later one, live. The events end when the stream is deleted.',
    type: StreamReplayEvent,
    ...onBroker('VIEWER'),
    args: {
      brokerId: t.arg.id({ description: 'The broker of the stream.', required: true }),
      streamName: t.arg.string({ description: 'Of a stream of this broker; else NOT_FOUND.', required: true }),
      after: t.arg.float(resumeArgument),
    },
    subscribe: (_root, { brokerId, streamName, after }, context) => {
      const { services, viewer } = context;
      const broker = services.brokers.visible(brokerId, viewer);
      return guarded(
        context,
        (current) => services.brokers.visible(brokerId, current),
        (signal) => services.streams.watchReplay(broker, streamName, { signal, after }),
      );
    },
    resolve: (event) => event,
  }),
  streams: t.field({
    description: 'The streams of a broker with their states and counters, live.',
    type: StreamsEvent,
    ...onBroker('VIEWER'),
    args: {
      brokerId: t.arg.id({ description: 'A broker that the caller sees.', required: true }),
      after: t.arg.float(resumeArgument),
    },
    subscribe: (_root, { brokerId, after }, context) => {
      const { services, viewer } = context;
      const broker = services.brokers.visible(brokerId, viewer);
      return guarded(
        context,
        (current) => services.brokers.visible(brokerId, current),
        (signal) => services.streams.watch(broker, { signal, after }),
      );
    },
    resolve: (event, { brokerId }, { services, viewer }) => {
      const told = stateIn(event);
      // The last event of a broker is sent when it is removed.
      if (told === null || told.streams.length === 0) return { event, streams: [] };
      const broker = services.brokers.visible(brokerId, viewer);
      return { event, streams: told.streams.map((entry) => streamView(broker, told.provider, entry)) };
    },
  }),
}));
