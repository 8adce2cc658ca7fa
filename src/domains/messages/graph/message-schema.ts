import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { guardedBroker } from '../../../gateway/graphql/guarded.ts';
import { eventFields, resumable, resumeArgument } from '../../../gateway/graphql/live-event.ts';
import { knownTimeField } from '../../../gateway/graphql/time-field.ts';
import { viewerCan } from '../../../gateway/graphql/viewer-can.ts';
import { stateIn } from '../../../gateway/live/broadcast.ts';
import { payloadText } from '../../../platform/text/payload-text.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { MAX_PAYLOAD_BYTES, MAX_RATE } from '../message-service.ts';
import type { TailEvent, TopicMessage } from '../message-tail.ts';

const TopicMessageType = builder.objectRef<TopicMessage>('TopicMessage').implement({
  description: 'A message that this service received.',
  fields: (t) => ({
    topic: t.exposeString('topic', { description: 'The topic of the message.' }),
    payload: t.string({
      description:
        'The first `maxPayloadBytes` bytes as text, without a truncated last character. Null if the payload is not UTF-8.',
      nullable: true,
      resolve: ({ payload, payloadBytes }) => payloadText(payload, payload.length < payloadBytes),
    }),
    payloadBase64: t.string({
      description: 'The first `maxPayloadBytes` bytes.',
      resolve: ({ payload }) => payload.toString('base64'),
    }),
    payloadBytes: t.exposeInt('payloadBytes', { description: 'Size of the whole payload.' }),
    isTruncated: t.boolean({
      description: 'Whether the payload is longer than `maxPayloadBytes`.',
      resolve: ({ payload, payloadBytes }) => payload.length < payloadBytes,
    }),
    qos: t.exposeInt('qos', {
      description:
        'The QoS of delivery. A tail subscribes with QoS 0, so that the broker queues no messages, and brokers then send all messages with 0.',
    }),
    retain: t.exposeBoolean('retain', {
      description: 'Whether this is a retained message, sent because of the new subscription.',
    }),
    receivedAt: knownTimeField(t, 'By the clock of this service.', ({ receivedAt }) => receivedAt),
  }),
});

const MessagesEvent = builder.objectRef<TailEvent>('MessagesEvent').implement({
  description:
    'The first event has up to 100 buffered messages, further events new ones. Messages that arrive in quick succession share an event.',
  fields: (t) => ({
    ...eventFields(t, (event) => event),
    messages: t.field({ description: 'Oldest first.', type: [TopicMessageType], resolve: messagesOf }),
    leftOut: t.int({
      description:
        'Number of messages omitted since the previous event, because more than `maxRate` messages or more than 1 MiB arrived in a second.',
      resolve: (event) => (event.kind === 'CHANGE' ? event.change.leftOut : 0),
    }),
    isConnected: t.boolean({
      description:
        'SNAPSHOT, CHANGE: false if the connection to the broker is lost. Messages until the next event with true are missed, and not counted.',
      nullable: true,
      resolve: (event) => stateIn(event)?.isConnected ?? null,
    }),
  }),
});

const messagesOf = (event: TailEvent): TopicMessage[] => [...(stateIn(event)?.messages ?? [])];

const DEFAULT_RATE = 100;
const DEFAULT_PAYLOAD_BYTES = 1_024;

builder.subscriptionFields((t) => ({
  messages: t.field({
    description: resumable(
      'The messages that match a topic filter, live, as far as the broker allows this service’s user to read them. Retained messages are sent first. The stream ends when the broker withdraws the permission for the filter.',
    ),
    type: MessagesEvent,
    ...onBroker('EDITOR'),
    args: {
      brokerId: t.arg.id({ description: 'A broker in a project where the caller has EDITOR.', required: true }),
      filter: t.arg.string({
        description: 'MQTT topic filter: `plant/+/state`, `#`, `$SYS/#`. Not `$share/…` or `$CONTROL/…`.',
        required: true,
      }),
      maxRate: t.arg.int({
        description: `Maximum number of messages per second, 1 to ${MAX_RATE}, with bursts of the same size.`,
        defaultValue: DEFAULT_RATE,
      }),
      maxPayloadBytes: t.arg.int({
        description: `Maximum number of bytes of each payload, 0 to ${MAX_PAYLOAD_BYTES}.`,
        defaultValue: DEFAULT_PAYLOAD_BYTES,
      }),
      after: t.arg(resumeArgument),
    },
    subscribe: (_root, { brokerId, filter, maxRate, maxPayloadBytes, after }, context) => {
      const tail = {
        filter,
        maxRate: maxRate ?? DEFAULT_RATE,
        maxPayloadBytes: maxPayloadBytes ?? DEFAULT_PAYLOAD_BYTES,
      };
      return guardedBroker(
        context,
        brokerId,
        (broker, signal) => context.services.messages.watch(broker, tail, { signal, after }),
        'EDITOR',
      );
    },
    resolve: (event) => event,
  }),
}));

builder.interfaceFields(Broker, (t) => ({
  viewerCanReadMessages: t.boolean(viewerCan('Subscription.messages', 'read messages', ({ id }) => ({ brokerId: id }))),
}));
