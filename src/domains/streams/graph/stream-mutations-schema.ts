import { builder, writesOnBroker } from '../../../gateway/graphql/builder.ts';
import { BROKER_QUERY_COST } from '../../../gateway/graphql/page-cost.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { DEFAULT_DEFINITION } from '../model/stream-definition.ts';
import type { StreamWrite } from '../stream-service.ts';
import { streamNodeId } from '../stream-view.ts';
import { Stream } from './stream-schema.ts';

type InputFields = PothosSchemaTypes.InputFieldBuilder<(typeof builder)['$inferSchemaTypes'], 'InputObject'>;

const target = (t: InputFields) => ({
  brokerId: t.id({ description: 'The broker that it is about.', required: true }),
  projectId: t.id({ description: 'When given, the broker must be in this project.' }),
});
const oneStream = (t: InputFields) => ({
  ...target(t),
  name: t.string({ description: 'Of a stream of this broker.', required: true }),
});

const SOURCE = 'Topic filter of the messages that come in; it must not begin with `$`.';

/** Fields of both creation and change. */
const definitionFields = (t: InputFields, without: (value: string) => string) => ({
  targetTopic: t.string({
    description: `Where results are published, without wildcards. ${without('nowhere')}`,
  }),
  targetQos: t.int({
    description: `0, 1, 2, or -1 for that of the message that came in. ${without(String(DEFAULT_DEFINITION.targetQos))}`,
  }),
  ttl: t.int({
    description: `Seconds for which stored messages are kept at least, and at most twice that; 0: until they are cleared. ${without(String(DEFAULT_DEFINITION.ttl))}`,
  }),
  active: t.boolean({ description: `False: it does nothing. ${without(String(DEFAULT_DEFINITION.active))}` }),
  process: t.boolean({
    description: `False: messages pass as they are, whatever the query. ${without(String(DEFAULT_DEFINITION.process))}`,
  }),
  persist: t.boolean({
    description: `Store what leaves the query, to be replayed. ${without(String(DEFAULT_DEFINITION.persist))}`,
  }),
  // `key` is the name of a value in messages, not a secret.
  key: t.string({ description: `For brokers that know it. ${without('none')}`, extensions: { secret: false } }),
  query: t.field({
    description: `\`{ select: […], where: […] }\`; \`previewStream\` tells what comes of it. ${without('all messages pass as they are')}`,
    type: 'JSON',
  }),
  textName: t.string({ description: `A label. ${without('none')}` }),
  textDescription: t.string({ description: `For people. ${without('none')}` }),
});

const bounds = (t: InputFields) => ({
  from: t.field({ description: 'Of this moment or later. Without it: from the first one.', type: 'DateTime' }),
  to: t.field({ description: 'Of this moment or earlier. Without it: to the last one.', type: 'DateTime' }),
});

const CreateStreamInput = builder.inputType('CreateStreamInput', {
  description: 'What the stream is to do.',
  fields: (t) => ({
    ...target(t),
    name: t.string({ description: 'No other stream of the broker may have it; it never changes.', required: true }),
    sourceTopic: t.string({ description: SOURCE, required: true }),
    ...definitionFields(t, (value) => `Without it: ${value}.`),
  }),
});

const UpdateStreamInput = builder.inputType('UpdateStreamInput', {
  description:
    'Only what is given changes; null clears what may be none. Aggregates begin anew when the query changes.',
  fields: (t) => ({
    ...oneStream(t),
    sourceTopic: t.string({ description: SOURCE }),
    ...definitionFields(t, () => 'Without it: as it is.'),
  }),
});

const ClearStreamMessagesInput = builder.inputType('ClearStreamMessagesInput', {
  description: 'Which stored messages to remove for good.',
  fields: (t) => ({ ...oneStream(t), ...bounds(t) }),
});

const ReplayStreamInput = builder.inputType('ReplayStreamInput', {
  description: 'Which stored messages to publish again, where, and how fast.',
  fields: (t) => ({
    ...oneStream(t),
    topic: t.string({ description: 'Where they are published, without wildcards.', required: true }),
    ...bounds(t),
    limit: t.int({ description: 'So many at most. Without it: all.' }),
    speed: t.float({ description: '1 is as they came, 2.5 that many times as fast. Without it: 1.' }),
    fastest: t.boolean({ defaultValue: false, description: 'Without pauses; instead of `speed`.' }),
    reverse: t.boolean({ defaultValue: false, description: 'The newest first.' }),
  }),
});

const nameInput = (name: string, description: string) =>
  builder.inputType(name, { description, fields: (t) => oneStream(t) });

const DeleteStreamInput = nameInput('DeleteStreamInput', 'Which stream to delete.');
const EnableStreamInput = nameInput('EnableStreamInput', 'Which stream to switch on.');
const DisableStreamInput = nameInput('DisableStreamInput', 'Which stream to switch off.');
const StopStreamReplayInput = nameInput('StopStreamReplayInput', 'Of which stream to end the replay.');

const StreamPayload = builder.objectRef<StreamWrite>('StreamPayload').implement({
  description: 'The stream that something was done to.',
  fields: (t) => ({
    stream: t.field({
      description: 'As it is after that; null: somebody deleted it meanwhile.',
      type: Stream,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: ({ readStream }) => readStream(),
    }),
    broker: t.field({ description: 'The one that did it.', type: Broker, resolve: ({ broker }) => broker }),
  }),
});

const DeleteStreamPayload = builder.objectRef<StreamWrite>('DeleteStreamPayload').implement({
  description: 'The stream that there is no more.',
  fields: (t) => ({
    deletedStreamId: t.id({ description: 'That it had.', resolve: ({ broker, name }) => streamNodeId(broker, name) }),
    broker: t.field({ description: 'The one that had it.', type: Broker, resolve: ({ broker }) => broker }),
  }),
});

builder.mutationFields((t) => ({
  createStream: t.field({
    description:
      'Makes a stream. INVALID when it could feed itself, directly or through others: the reason names the chain.',
    type: StreamPayload,
    ...writesOnBroker,
    args: { input: t.arg({ description: 'The new stream.', type: CreateStreamInput, required: true }) },
    resolve: (_root, { input: { brokerId, projectId: _, ...stream } }, { services, viewer }) =>
      services.streams.create(services.brokers.visible(brokerId, viewer), stream),
  }),
  updateStream: t.field({
    description: 'Changes a stream, which goes on without a break.',
    type: StreamPayload,
    ...writesOnBroker,
    args: { input: t.arg({ description: 'Which stream, and what changes.', type: UpdateStreamInput, required: true }) },
    resolve: (_root, { input: { brokerId, projectId: _, name, ...changes } }, { services, viewer }) =>
      services.streams.update(services.brokers.visible(brokerId, viewer), name, changes),
  }),
  deleteStream: t.field({
    description: 'Deletes a stream with its stored messages, and ends its replay.',
    type: DeleteStreamPayload,
    ...writesOnBroker,
    args: { input: t.arg({ description: 'Which stream.', type: DeleteStreamInput, required: true }) },
    resolve: (_root, { input: { brokerId, name } }, { services, viewer }) =>
      services.streams.remove(services.brokers.visible(brokerId, viewer), name),
  }),
  enableStream: t.field({
    description: 'Switches a stream on.',
    type: StreamPayload,
    ...writesOnBroker,
    args: { input: t.arg({ description: 'Which stream.', type: EnableStreamInput, required: true }) },
    resolve: (_root, { input: { brokerId, name } }, { services, viewer }) =>
      services.streams.setActive(services.brokers.visible(brokerId, viewer), name, true),
  }),
  disableStream: t.field({
    description: 'Switches a stream off; what it stored stays, and may be replayed.',
    type: StreamPayload,
    ...writesOnBroker,
    args: { input: t.arg({ description: 'Which stream.', type: DisableStreamInput, required: true }) },
    resolve: (_root, { input: { brokerId, name } }, { services, viewer }) =>
      services.streams.setActive(services.brokers.visible(brokerId, viewer), name, false),
  }),
  clearStreamMessages: t.field({
    description: 'Removes stored messages of a stream for good.',
    type: StreamPayload,
    ...writesOnBroker,
    args: { input: t.arg({ description: 'Which messages.', type: ClearStreamMessagesInput, required: true }) },
    resolve: (_root, { input: { brokerId, projectId: _, name, ...bounds } }, { services, viewer }) =>
      services.streams.clear(services.brokers.visible(brokerId, viewer), name, bounds),
  }),
  replayStream: t.field({
    description:
      'Publishes stored messages of a stream again; answers when it has begun, and subscription `streamReplay` tells how it goes. One at a time for each stream: else IN_USE.',
    type: StreamPayload,
    ...writesOnBroker,
    args: { input: t.arg({ description: 'Which messages, and where.', type: ReplayStreamInput, required: true }) },
    resolve: (_root, { input: { brokerId, projectId: _, name, ...replay } }, { services, viewer }) =>
      services.streams.replay(services.brokers.visible(brokerId, viewer), name, replay),
  }),
  stopStreamReplay: t.field({
    description: 'Ends the replay of a stream, if one runs.',
    type: StreamPayload,
    ...writesOnBroker,
    args: { input: t.arg({ description: 'Which stream.', type: StopStreamReplayInput, required: true }) },
    resolve: (_root, { input: { brokerId, name } }, { services, viewer }) =>
      services.streams.stopReplay(services.brokers.visible(brokerId, viewer), name),
  }),
}));
