import { DEFAULT_DEFINITION } from '../../../data-plane/streams/model/stream-definition.ts';
import { builder, type InputFields, writesOnBroker } from '../../../gateway/graphql/builder.ts';
import { BROKER_QUERY_COST } from '../../../gateway/graphql/page-cost.ts';
import { inputArgument, payloadsWith } from '../../../gateway/graphql/payloads.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { ofBroker, viewerCan } from '../../../gateway/graphql/viewer-can.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { StreamWrite } from '../stream-service.ts';
import { streamNodeId } from '../stream-view.ts';
import { Stream } from './stream-schema.ts';

const target = (t: InputFields) => ({
  brokerId: t.id({ description: 'The id of the broker.', required: true }),
  projectId: t.id({ description: 'If given, the broker must be in this project.' }),
});
const oneStream = (t: InputFields) => ({
  ...target(t),
  name: t.string({ description: 'The name of a stream of this broker.', required: true }),
});

const SOURCE = 'Topic filter of the received messages. Must not begin with `$`.';

/** Fields of both creation and change. `absent` describes what an absent field means, given its default. */
const definitionFields = (t: InputFields, absent: (value: string) => string) => ({
  targetTopic: t.string({
    description: `Topic without wildcards on which results are published. ${absent('nothing is published')}`,
  }),
  targetQos: t.int({
    description: `QoS of published messages: 0, 1, 2, or -1 for the QoS of the received message. ${absent(String(DEFAULT_DEFINITION.targetQos))}`,
  }),
  ttl: t.int({
    description: `Minimum retention of stored messages in seconds; the maximum is twice that. 0: messages are stored until they are cleared. ${absent(String(DEFAULT_DEFINITION.ttl))}`,
  }),
  isActive: t.boolean({ description: `Whether the stream runs. ${absent(String(DEFAULT_DEFINITION.active))}` }),
  process: t.boolean({
    description: `Whether the query is applied. If not, messages pass unchanged. ${absent(String(DEFAULT_DEFINITION.process))}`,
  }),
  persist: t.boolean({
    description: `Whether results are stored for replays. ${absent(String(DEFAULT_DEFINITION.persist))}`,
  }),
  // `key` is the name of a value in messages, not a secret.
  key: t.string({ description: `For brokers that support it. ${absent('none')}`, extensions: { secret: false } }),
  query: t.field({
    description: `\`{ select: […], where: […] }\`, or \`{ expression: { filter, output } }\` with expressions in CEL, which brokers that run their streams themselves do not have; see \`previewStream\`. ${absent('all messages pass unchanged')}`,
    type: 'JSON',
  }),
  textName: t.string({ description: `A display name. ${absent('none')}` }),
  textDescription: t.string({ description: `A description for users. ${absent('none')}` }),
});

const bounds = (t: InputFields) => ({
  from: t.field({
    description: 'Messages stored at this time or later. Default: from the first one.',
    type: 'DateTime',
  }),
  to: t.field({ description: 'Messages stored at this time or earlier. Default: to the last one.', type: 'DateTime' }),
});

const CreateStreamInput = builder.inputType('CreateStreamInput', {
  description: 'The settings of a new stream.',
  fields: (t) => ({
    ...target(t),
    name: t.string({
      description: 'Unique among the streams of the broker. It cannot be changed later.',
      required: true,
    }),
    sourceTopic: t.string({ description: SOURCE, required: true }),
    ...definitionFields(t, (value) => `Default: ${value}.`),
  }),
});

const UpdateStreamInput = builder.inputType('UpdateStreamInput', {
  description:
    'Only given fields are changed. Null clears a nullable field. Aggregates start again if the query changes.',
  fields: (t) => ({
    ...oneStream(t),
    sourceTopic: t.string({ description: SOURCE }),
    ...definitionFields(t, () => 'Absent: unchanged.'),
  }),
});

const ClearStreamMessagesInput = builder.inputType('ClearStreamMessagesInput', {
  description: 'The stored messages to delete.',
  fields: (t) => ({ ...oneStream(t), ...bounds(t) }),
});

const ReplayStreamInput = builder.inputType('ReplayStreamInput', {
  description: 'The stored messages to publish again, the topic and the speed.',
  fields: (t) => ({
    ...oneStream(t),
    topic: t.string({ description: 'Topic without wildcards on which the messages are published.', required: true }),
    ...bounds(t),
    limit: t.field({ description: 'Maximum number of messages. Default: all.', type: 'SafeInt' }),
    speed: t.float({ description: 'Factor of the original speed: 2.5 is 2.5 times as fast. Default: 1.' }),
    fastest: t.boolean({
      defaultValue: false,
      description: 'Whether messages are published without pauses. Excludes `speed`.',
    }),
    reverse: t.boolean({ defaultValue: false, description: 'Whether the newest message is published first.' }),
  }),
});

const StreamInput = builder.inputType('StreamInput', {
  description: 'The stream that a mutation deletes, switches on or off, or whose replay it stops.',
  fields: oneStream,
});

const streamPayload = payloadsWith<StreamWrite>({
  ...withBroker,
  description: 'The result of a change of a stream.',
  fields: (t) => ({
    stream: t.field({
      description: 'The stream after the change. Null if it was deleted meanwhile.',
      type: Stream,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: ({ readStream }) => readStream(),
    }),
    broker: t.expose('broker', { description: 'The broker of the stream.', type: Broker }),
  }),
});

const DeleteStreamPayload = builder.objectRef<StreamWrite>('DeleteStreamPayload').implement({
  ...withBroker,
  description: 'The result of the deletion of a stream.',
  fields: (t) => ({
    deletedStreamId: t.id({
      description: 'The id of the deleted stream.',
      resolve: ({ broker, name }) => streamNodeId(broker, name),
    }),
    broker: t.expose('broker', { description: 'The broker of the deleted stream.', type: Broker }),
  }),
});

builder.mutationFields((t) => ({
  createStream: t.field({
    description:
      'Creates a stream. INVALID if the stream would receive its own output, directly or through other streams; the reason contains the chain.',
    type: streamPayload('createStream'),
    ...writesOnBroker,
    args: inputArgument(CreateStreamInput, 'The new stream.'),
    resolve: (_root, { input: { brokerId, projectId: _, isActive: active, ...stream } }, { services, viewer }) =>
      services.streams.create(services.brokers.visible(brokerId, viewer), { ...stream, active }),
  }),
  updateStream: t.field({
    description: 'Changes a stream, which continues without interruption.',
    type: streamPayload('updateStream'),
    ...writesOnBroker,
    args: inputArgument(UpdateStreamInput, 'The stream and its changes.'),
    resolve: (_root, { input: { brokerId, projectId: _, name, isActive: active, ...changes } }, { services, viewer }) =>
      services.streams.update(services.brokers.visible(brokerId, viewer), name, { ...changes, active }),
  }),
  deleteStream: t.field({
    description: 'Deletes a stream with its stored messages, and stops its replay.',
    type: DeleteStreamPayload,
    ...writesOnBroker,
    args: inputArgument(StreamInput, 'The stream.'),
    resolve: (_root, { input: { brokerId, name } }, { services, viewer }) =>
      services.streams.remove(services.brokers.visible(brokerId, viewer), name),
  }),
  enableStream: t.field({
    description: 'Switches a stream on.',
    type: streamPayload('enableStream'),
    ...writesOnBroker,
    args: inputArgument(StreamInput, 'The stream.'),
    resolve: (_root, { input: { brokerId, name } }, { services, viewer }) =>
      services.streams.setActive(services.brokers.visible(brokerId, viewer), name, true),
  }),
  disableStream: t.field({
    description: 'Switches a stream off. Its stored messages remain and can be replayed.',
    type: streamPayload('disableStream'),
    ...writesOnBroker,
    args: inputArgument(StreamInput, 'The stream.'),
    resolve: (_root, { input: { brokerId, name } }, { services, viewer }) =>
      services.streams.setActive(services.brokers.visible(brokerId, viewer), name, false),
  }),
  clearStreamMessages: t.field({
    description: 'Permanently deletes stored messages of a stream.',
    type: streamPayload('clearStreamMessages'),
    ...writesOnBroker,
    args: inputArgument(ClearStreamMessagesInput, 'The messages.'),
    resolve: (_root, { input: { brokerId, projectId: _, name, ...bounds } }, { services, viewer }) =>
      services.streams.clear(services.brokers.visible(brokerId, viewer), name, bounds),
  }),
  replayStream: t.field({
    description:
      'Publishes stored messages of a stream again. Responds when the replay has started; the subscription `streamReplay` reports its progress. IN_USE if another replay of the stream runs.',
    type: streamPayload('replayStream'),
    ...writesOnBroker,
    args: inputArgument(ReplayStreamInput, 'The messages, the topic and the speed.'),
    resolve: (_root, { input: { brokerId, projectId: _, name, ...replay } }, { services, viewer }) =>
      services.streams.replay(services.brokers.visible(brokerId, viewer), name, replay),
  }),
  stopStreamReplay: t.field({
    description: 'Stops the replay of a stream, if one runs.',
    type: streamPayload('stopStreamReplay'),
    ...writesOnBroker,
    args: inputArgument(StreamInput, 'The stream.'),
    resolve: (_root, { input: { brokerId, name } }, { services, viewer }) =>
      services.streams.stopReplay(services.brokers.visible(brokerId, viewer), name),
  }),
}));

builder.interfaceFields(Broker, (t) => ({
  viewerCanCreateStreams: t.boolean(viewerCan('Mutation.createStream', 'create streams', ofBroker)),
}));

const ofStream = ({ broker }: { readonly broker: { readonly id: string } }) => ofBroker(broker);

builder.objectFields(Stream, (t) => ({
  viewerCanUpdate: t.boolean(
    viewerCan('Mutation.updateStream', 'change, enable, disable, replay and clear the stream', ofStream),
  ),
  viewerCanDelete: t.boolean(viewerCan('Mutation.deleteStream', 'delete the stream', ofStream)),
}));
