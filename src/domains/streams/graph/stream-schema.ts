import { builder } from '../../../gateway/graphql/builder.ts';
import { Node } from '../../../gateway/graphql/node.ts';
import { BROKER_QUERY_COST, pageCost } from '../../../gateway/graphql/page-cost.ts';
import { mayQueryBroker } from '../../../gateway/graphql/walk-limit.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import { Broker, ControlProvider } from '../../brokers/broker-schema.ts';
import type { StreamNodeState, StreamOnNode } from '../model/stream-nodes.ts';
import type { StreamView } from '../stream-view.ts';
import { StreamCountersType, StreamReplayType, StreamStateType, StreamStorageType } from './stream-report-schema.ts';

/** A stream on one node, with the broker entry of the cluster. */
interface StreamOnNodeView {
  readonly broker: BrokerRecord;
  readonly on: StreamOnNode;
}

/** Assumed number of cluster nodes, for the cost of queries. */
const USUAL_NODES = 3;

const UNTOLD_THERE = 'Null where it is not there, or the broker does not tell.';
const UNTOLD = 'Null where a broker runs its streams itself and does not tell.';

const StreamNodeStateType = builder.enumType('StreamNodeState', {
  description: 'How a stream of a cluster is on one of its nodes.',
  values: {
    EQUAL: { description: 'As on the first node that has it.' },
    DIFFERENT: { description: 'Otherwise: somebody changed it there, or it was away when the stream was changed.' },
    MISSING: { description: 'It is not there.' },
    UNKNOWN: { description: 'The node could not be asked.' },
  } as const satisfies Record<StreamNodeState, object>,
});

export const StreamNode = builder.objectRef<StreamOnNodeView>('StreamNode').implement({
  description:
    'A stream of a cluster on one of its nodes. What it counted and stored there is that of the messages of this node.',
  fields: (t) => ({
    nodeId: t.int({ description: 'Of the node.', resolve: ({ on }) => on.nodeId }),
    sync: t.field({
      description: 'Whether it is as on the first node that has it.',
      type: StreamNodeStateType,
      resolve: ({ on }) => on.state,
    }),
    differences: t.stringList({
      description: 'Which of its settings are otherwise, by the names of fields of a stream.',
      resolve: ({ on }) => [...on.differences],
    }),
    state: t.field({
      description: `Whether it works there. ${UNTOLD_THERE}`,
      type: StreamStateType,
      nullable: true,
      resolve: ({ on }) => on.report?.state ?? null,
    }),
    problem: t.string({
      description: 'What is wrong there, or why the node could not be asked; null: nothing that is known.',
      nullable: true,
      resolve: ({ on }) => on.problem ?? on.report?.problem ?? null,
    }),
    counters: t.field({
      description: `What passed through it there. ${UNTOLD_THERE}`,
      type: StreamCountersType,
      nullable: true,
      resolve: ({ on }) => on.report?.counters ?? null,
    }),
    storage: t.field({
      description: `What it has stored there. ${UNTOLD_THERE}`,
      type: StreamStorageType,
      nullable: true,
      resolve: ({ on }) => on.report?.storage ?? null,
    }),
    replay: t.field({
      description: `The replay that runs there, or the last one; null: none. ${UNTOLD_THERE}`,
      type: StreamReplayType,
      nullable: true,
      resolve: ({ on }) => on.report?.replay ?? null,
    }),
  }),
});

export const Stream = builder.objectRef<StreamView>('Stream').implement({
  description:
    'Messages of a source, changed and filtered by a query, published on a target and stored to be replayed. A broker knows it by its name.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({ description: 'Lasts as long as its name.', resolve: ({ id }) => id }),
    name: t.string({
      description: 'No other stream of the broker has it; it never changes.',
      resolve: ({ definition }) => definition.name,
    }),
    broker: t.field({ description: 'The one that it belongs to.', type: Broker, resolve: ({ broker }) => broker }),
    sourceTopic: t.string({
      description: 'Topic filter of the messages that come in.',
      resolve: ({ definition }) => definition.sourceTopic,
    }),
    targetTopic: t.string({
      description: 'Where they are published. Null: nowhere.',
      nullable: true,
      resolve: ({ definition }) => definition.targetTopic,
    }),
    targetQos: t.int({
      description: 'QoS of what is published, and replayed; -1 is that of the message that came in.',
      resolve: ({ definition }) => definition.targetQos,
    }),
    ttl: t.int({
      description: 'Seconds for which stored messages are kept at least, and at most twice that; 0: until cleared.',
      resolve: ({ definition }) => definition.ttl,
    }),
    active: t.boolean({
      description: 'False: nothing is processed, stored or published.',
      resolve: ({ definition }) => definition.active,
    }),
    process: t.boolean({
      description: 'False: messages pass as they are, whatever the query.',
      resolve: ({ definition }) => definition.process,
    }),
    persist: t.boolean({
      description: 'What leaves the query is stored, to be replayed.',
      resolve: ({ definition }) => definition.persist,
    }),
    replaying: t.exposeBoolean('replaying', { description: 'A replay runs.' }),
    key: t.string({
      description: 'Kept for brokers that know it; means nothing to streams that this service runs.',
      nullable: true,
      resolve: ({ definition }) => definition.key,
    }),
    query: t.field({
      description: '`select` and `where`; an empty object lets everything pass as it is.',
      type: 'JSON',
      resolve: ({ definition }) => definition.query,
    }),
    textName: t.string({
      description: 'A label.',
      nullable: true,
      resolve: ({ definition }) => definition.textName,
    }),
    textDescription: t.string({
      description: 'What people wrote about it.',
      nullable: true,
      resolve: ({ definition }) => definition.textDescription,
    }),
    state: t.field({
      description: `Whether it works. ${UNTOLD}`,
      type: StreamStateType,
      nullable: true,
      resolve: ({ report }) => report?.state ?? null,
    }),
    problem: t.string({
      description: `What is wrong, and what would help; null: nothing. ${UNTOLD}`,
      nullable: true,
      resolve: ({ report }) => report?.problem ?? null,
    }),
    counters: t.field({
      description: `What passed through it. ${UNTOLD}`,
      type: StreamCountersType,
      nullable: true,
      resolve: ({ report }) => report?.counters ?? null,
    }),
    storage: t.field({
      description: `What it has stored. ${UNTOLD}`,
      type: StreamStorageType,
      nullable: true,
      resolve: ({ report }) => report?.storage ?? null,
    }),
    replay: t.field({
      description: `The replay that runs, or the last one since it began to run; null: none. ${UNTOLD}`,
      type: StreamReplayType,
      nullable: true,
      resolve: ({ report }) => report?.replay ?? null,
    }),
    messageCount: t.float({
      description:
        'Stored messages; an estimate, and a question to the broker, where a broker runs its streams itself. Null: it stores none.',
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: async (stream, _args, context) => {
        if (stream.report === null && !(await mayQueryBroker(context, false))) return null;
        return context.services.streams.messageCount(stream);
      },
    }),
    nodes: t.field({
      description:
        'How it is on each node of a cluster whose nodes have streams of their own, by number; null on any other broker. There the settings are those of the first node that has it, and what is counted, stored and replayed is that of all.',
      type: [StreamNode],
      nullable: true,
      complexity: { field: 1, multiplier: USUAL_NODES },
      resolve: ({ broker, nodes }) => nodes?.map((on) => ({ broker, on })) ?? null,
    }),
    provider: t.expose('provider', { description: 'Who runs the streams of the broker.', type: ControlProvider }),
  }),
});

builder.interfaceFields(Broker, (t) => ({
  streams: t.connection(
    {
      description: 'In the order of the broker: where this service runs them, that of their creation.',
      type: Stream,
      nullable: true,
      complexity: pageCost,
      args: { offset: t.arg.int({ description: 'Entries left out at the start.' }) },
      resolve: (broker, args, { services }) => services.streams.page(broker, args),
    },
    {
      name: 'StreamConnection',
      description: 'Streams of a broker.',
      fields: (connection) => ({
        totalCount: connection.exposeInt('totalCount', { description: 'Of the whole list.' }),
        problem: connection.exposeString('problem', {
          description:
            'Which nodes of a cluster could not be asked, whose streams may be missing, and why; null: none.',
          nullable: true,
        }),
      }),
    },
    { name: 'StreamEdge', description: 'A stream in its place.' },
  ),
  stream: t.field({
    description: 'Null when the broker has no such stream.',
    type: Stream,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    args: { name: t.arg.string({ description: 'As it was created with.', required: true }) },
    resolve: (broker, { name }, { services }) => services.streams.find(broker, name),
  }),
}));
