import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { guardedBroker } from '../../../gateway/graphql/guarded.ts';
import { eventFields, partsLeftField, resumable, resumeArgument } from '../../../gateway/graphql/live-event.ts';
import { stateIn } from '../../../gateway/live/broadcast.ts';
import type { ReplayEvent, StreamListEvent } from '../stream-feeds.ts';
import { type StreamView, streamNodeId, streamView } from '../stream-view.ts';
import { StreamReplayType } from './stream-report-schema.ts';
import { Stream } from './stream-schema.ts';

const CONNECTED =
  'SNAPSHOT, CHANGE: whether this service is connected to the broker. While it is not, the last reported state remains.';

const StreamReplayEvent = builder.objectRef<ReplayEvent>('StreamReplayEvent').implement({
  description: 'First the current replay, then one event for each change, at most ten per second.',
  fields: (t) => ({
    ...eventFields(t, (event) => event),
    isReplaying: t.boolean({
      description: 'SNAPSHOT, CHANGE: whether a replay runs.',
      nullable: true,
      resolve: (event) => stateIn(event)?.replaying ?? null,
    }),
    replay: t.field({
      description:
        'SNAPSHOT, CHANGE: the running replay, or the last one. Null if there was none, or if the broker runs the stream itself and reports only `isReplaying`.',
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
  readonly brokerId: string;
  readonly event: StreamListEvent;
  readonly streams: readonly StreamView[];
}

/** Assumed number of streams per event, for the cost of a subscription. */
const USUAL_EVENT = 50;

const StreamsEvent = builder.objectRef<SeenEvent>('StreamsEvent').implement({
  description: 'First all streams of a broker, then those that changed, at most once per second.',
  fields: (t) => ({
    ...eventFields(t, ({ event }) => event),
    ...partsLeftField(t, ({ event }) => event),
    streams: t.field({
      description:
        'SNAPSHOT: all streams, or the first part of them (see `partsLeft`). CHANGE: new streams, and streams with changed counters, states or settings.',
      type: [Stream],
      complexity: { field: 1, multiplier: USUAL_EVENT },
      resolve: ({ streams }) => [...streams],
    }),
    removed: t.stringList({
      description: 'CHANGE: names of deleted streams.',
      resolve: ({ event }) => [...(stateIn(event)?.removed ?? [])],
    }),
    removedIds: t.idList({
      description: 'CHANGE: the `id` of each of `removed`.',
      resolve: ({ brokerId, event }) =>
        (stateIn(event)?.removed ?? []).map((name) => streamNodeId({ id: brokerId }, name)),
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
    description: resumable('The live progress of the replays of a stream. The events end when the stream is deleted.'),
    type: StreamReplayEvent,
    ...onBroker('VIEWER'),
    args: {
      brokerId: t.arg.id({ description: 'The id of the broker.', required: true }),
      streamName: t.arg.string({
        description: 'The name of a stream of this broker; otherwise NOT_FOUND.',
        required: true,
      }),
      after: t.arg(resumeArgument),
    },
    subscribe: (_root, { brokerId, streamName, after }, context) =>
      guardedBroker(context, brokerId, (broker, signal) =>
        context.services.streams.watchReplay(broker, streamName, { signal, after }),
      ),
    resolve: (event) => event,
  }),
  streams: t.field({
    description: resumable('The live streams of a broker, with their states and counters.'),
    type: StreamsEvent,
    ...onBroker('VIEWER'),
    args: {
      brokerId: t.arg.id({ description: 'The id of a broker that the caller may see.', required: true }),
      after: t.arg(resumeArgument),
    },
    subscribe: (_root, { brokerId, after }, context) =>
      guardedBroker(context, brokerId, (broker, signal) => context.services.streams.watch(broker, { signal, after })),
    resolve: (event, { brokerId }, { services, viewer }) => {
      const state = stateIn(event);
      // The last event of a broker is sent when it is removed.
      if (state === null || state.streams.length === 0) return { brokerId, event, streams: [] };
      const broker = services.brokers.visible(brokerId, viewer);
      return { brokerId, event, streams: state.streams.map((entry) => streamView(broker, state.provider, entry)) };
    },
  }),
}));
