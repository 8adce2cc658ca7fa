import type { StreamNodeState } from '../../../data-plane/streams/model/stream-nodes.ts';
import { builder } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { findsNamedNode, Node } from '../../../gateway/graphql/node.ts';
import { BROKER_QUERY_COST, pageCost } from '../../../gateway/graphql/page-cost.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { mayQueryBroker } from '../../../gateway/graphql/walk-limit.ts';
import { ControlProvider } from '../../brokers/broker-info-schema.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { StreamOnNodeView, StreamView } from '../stream-view.ts';
import { StreamCountersType, StreamReplayType, StreamStateType, StreamStorageType } from './stream-report-schema.ts';

/** Assumed number of cluster nodes, for the cost of queries. */
const USUAL_NODES = 3;

const nullIf = (reason: string) => (description: string) =>
  ({ description: `${description} Null if ${reason}.`, nullable: true }) as const;
const onNode = nullIf('the node does not have the stream or does not report it');
const reported = nullIf('the broker runs its own streams and does not report it');

const StreamNodeStateType = describedEnum<StreamNodeState>(
  'StreamNodeState',
  'How a stream of a cluster on one node compares with the first node that has the stream.',
  {
    EQUAL: 'The same settings.',
    DIFFERENT:
      'Other settings: the stream was changed on the node, or the node was not reachable when the stream was changed.',
    MISSING: 'The node does not have the stream.',
    UNKNOWN: 'The node cannot be queried.',
  },
);

export const StreamNode = builder.objectRef<StreamOnNodeView>('StreamNode').implement({
  ...withBroker,
  description:
    'A stream of a cluster on one of its nodes. Counters and stored messages are those of the messages of this node.',
  fields: (t) => ({
    nodeId: t.exposeInt('nodeId', { description: 'The number of the node.' }),
    sync: t.expose('sync', {
      description: 'Whether the stream equals that of the first node that has it.',
      type: StreamNodeStateType,
    }),
    differences: t.stringList({
      description: 'The settings that differ, by the names of the fields of a stream.',
      resolve: ({ differences }) => [...differences],
    }),
    state: t.expose('state', { ...onNode('The state on the node.'), type: StreamStateType }),
    problem: t.exposeString('problem', {
      description: 'What is wrong on the node, or why the node cannot be queried. Null if no problem is known.',
      nullable: true,
    }),
    counters: t.expose('counters', { ...onNode('The messages counted on the node.'), type: StreamCountersType }),
    storage: t.expose('storage', { ...onNode('The messages stored on the node.'), type: StreamStorageType }),
    replay: t.expose('replay', {
      ...onNode('The running replay on the node, or the last one. Null if there is none.'),
      type: StreamReplayType,
    }),
  }),
});

export const Stream = builder.objectRef<StreamView>('Stream').implement({
  ...withBroker,
  description:
    'Reads the messages of a source topic filter, filters and changes them by a query, publishes the results on a target topic, and stores them for replays. A broker identifies a stream by its name.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Depends on the broker and the name only.' }),
    name: t.exposeString('name', { description: 'Unique among the streams of the broker. It cannot be changed.' }),
    broker: t.expose('broker', { description: 'The broker of the stream.', type: Broker }),
    sourceTopic: t.exposeString('sourceTopic', { description: 'Topic filter of the received messages.' }),
    targetTopic: t.exposeString('targetTopic', {
      description: 'Topic on which results are published. Null if nothing is published.',
      nullable: true,
    }),
    targetQos: t.exposeInt('targetQos', {
      description: 'QoS of published and replayed messages. -1: the QoS of the received message.',
    }),
    ttl: t.exposeInt('ttl', {
      description:
        'Minimum retention of stored messages in seconds; the maximum is twice that. 0: messages are stored until they are cleared.',
    }),
    isActive: t.exposeBoolean('active', {
      description: 'Whether the stream is switched on. If not, nothing is processed, stored or published.',
    }),
    process: t.exposeBoolean('process', {
      description: 'Whether the query is applied. If not, messages pass unchanged.',
    }),
    persist: t.exposeBoolean('persist', { description: 'Whether results are stored for replays.' }),
    isReplaying: t.exposeBoolean('replaying', { description: 'Whether a replay runs.' }),
    key: t.exposeString('key', {
      description: 'For brokers that support it. Streams that this service runs do not use it.',
      nullable: true,
    }),
    query: t.expose('query', {
      description: '`select` and `where`. With an empty object all messages pass unchanged.',
      type: 'JSON',
    }),
    textName: t.exposeString('textName', { description: 'A display name.', nullable: true }),
    textDescription: t.exposeString('textDescription', {
      description: 'A description for users.',
      nullable: true,
    }),
    state: t.expose('state', { ...reported('The state of the stream.'), type: StreamStateType }),
    problem: t.exposeString('problem', reported('What is wrong and how to correct it. Null if there is no problem.')),
    counters: t.expose('counters', { ...reported('The messages of the stream so far.'), type: StreamCountersType }),
    storage: t.expose('storage', { ...reported('The stored messages.'), type: StreamStorageType }),
    replay: t.expose('replay', {
      ...reported('The running replay, or the last one since the stream was started. Null if there is none.'),
      type: StreamReplayType,
    }),
    messageCount: t.field({
      type: 'SafeInt',
      description:
        'Number of stored messages. An estimate that requires a query to the broker if the broker runs its own streams. Null if the stream stores none.',
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: async (stream, _args, context) => {
        if (stream.storage === null && !(await mayQueryBroker(context, false))) return null;
        return context.services.streams.messageCount(stream);
      },
    }),
    nodes: t.field({
      description:
        'The stream on each node of a cluster whose nodes run their own streams, by number. Null for other brokers. The settings of the stream are then those of the first node that has it; counters, stored messages and replays are the sums of all nodes.',
      type: [StreamNode],
      nullable: true,
      complexity: { field: 1, multiplier: USUAL_NODES },
      resolve: ({ nodes }) => nodes,
    }),
    provider: t.expose('provider', {
      description: 'Whether the broker or this service runs the streams of the broker.',
      type: ControlProvider,
    }),
  }),
});

findsNamedNode('stream', (broker, name, { services }) => services.streams.find(broker, name));

builder.interfaceFields(Broker, (t) => ({
  streams: t.connection(
    {
      description:
        'The streams of the broker, in the order in which the broker lists them. If this service runs the streams, they are sorted by creation time.',
      type: Stream,
      nullable: true,
      complexity: pageCost,
      args: { offset: t.arg.int({ description: 'Number of streams to skip.' }) },
      resolve: (broker, args, { services }) => services.streams.page(broker, args),
    },
    {
      name: 'StreamConnection',
      description: 'Streams of a broker.',
      fields: (connection) => ({
        totalCount: connection.exposeInt('totalCount', { description: 'Number of streams on all pages.' }),
        problem: connection.exposeString('problem', {
          description:
            'Which nodes of a cluster cannot be queried, so that their streams may be missing, and why. Null if there is no problem.',
          nullable: true,
        }),
      }),
    },
    { name: 'StreamEdge' },
  ),
  stream: t.field({
    description: 'Null if the broker has no such stream.',
    type: Stream,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    args: { name: t.arg.string({ description: 'The name of the stream.', required: true }) },
    resolve: (broker, { name }, { services }) => services.streams.find(broker, name),
  }),
}));
