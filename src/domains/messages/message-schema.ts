import { isUtf8 } from 'node:buffer';
import { builder, onBroker } from '../../gateway/graphql/builder.ts';
import { guarded } from '../../gateway/graphql/guarded.ts';
import { eventFields, resumeArgument } from '../../gateway/graphql/live-event.ts';
import { stateIn } from '../../gateway/live/broadcast.ts';
import { MAX_PAYLOAD_BYTES, MAX_RATE } from './message-service.ts';
import type { TailEvent, TopicMessage } from './message-tail.ts';

function textOf({ payload, payloadBytes }: TopicMessage): string | null {
  if (isUtf8(payload)) return payload.toString();
  if (payload.length === payloadBytes) return null;
  try {
    // As the beginning of a longer text: bytes of a character that was cut are left out.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(payload, { stream: true });
  } catch {
    return null;
  }
}

const TopicMessageType = builder.objectRef<TopicMessage>('TopicMessage').implement({
  description: 'A message as it came to this service.',
  fields: (t) => ({
    topic: t.exposeString('topic', { description: 'What it was published to.' }),
    payload: t.string({
      description: 'As text, up to the last whole character of what is told. Null: it is no UTF-8.',
      nullable: true,
      resolve: textOf,
    }),
    payloadBase64: t.string({
      description: 'The first `maxPayloadBytes` bytes, exactly as they came.',
      resolve: ({ payload }) => payload.toString('base64'),
    }),
    payloadBytes: t.exposeInt('payloadBytes', { description: 'Of the whole payload.' }),
    isTruncated: t.boolean({
      description: 'The payload is longer than `maxPayloadBytes`: only its beginning is told.',
      resolve: ({ payload, payloadBytes }) => payload.length < payloadBytes,
    }),
    qos: t.exposeInt('qos', {
      description:
        'That the message came with. A tail subscribes with 0, so that the broker queues nothing for it, and brokers then send everything with 0.',
    }),
    retain: t.exposeBoolean('retain', {
      description: 'The broker had kept the message, and sent it because the filter was subscribed to.',
    }),
    receivedAt: t.field({
      description: 'By the clock of this service.',
      type: 'DateTime',
      resolve: ({ receivedAt }) => new Date(receivedAt),
    }),
  }),
});

const MessagesEvent = builder.objectRef<TailEvent>('MessagesEvent').implement({
  description:
    'First the last messages that are at hand, up to 100, then those that come; of a short time in one event.',
  fields: (t) => ({
    ...eventFields(t, (event) => event),
    messages: t.field({ description: 'Oldest first.', type: [TopicMessageType], resolve: messagesOf }),
    leftOut: t.int({
      description:
        'Messages that are not told since the event before: more came than `maxRate`, or topics and payloads of more than 1 MiB in a second.',
      resolve: (event) => (event.kind === 'CHANGE' ? event.change.leftOut : 0),
    }),
    isConnected: t.boolean({
      description:
        'SNAPSHOT, CHANGE: false when the connection to the broker is lost. What is published until an event says true again is missed, and not counted.',
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
    description:
      'The messages that match a topic filter, live: those that the user may read with whom this service connects to the broker. Retained ones come first. The stream ends when the broker withdraws the right to the filter.',
    type: MessagesEvent,
    ...onBroker('EDITOR'),
    args: {
      brokerId: t.arg.id({ description: 'Of a broker in a project where the caller has EDITOR.', required: true }),
      filter: t.arg.string({
        description: 'MQTT topic filter: `plant/+/state`, `#`, `$SYS/#`. Not `$share/…` or `$CONTROL/…`.',
        required: true,
      }),
      maxRate: t.arg.int({
        description: `Messages told each second in the long run, 1 to ${MAX_RATE}; as many may come at once.`,
        defaultValue: DEFAULT_RATE,
      }),
      maxPayloadBytes: t.arg.int({
        description: `Bytes told of each payload, 0 to ${MAX_PAYLOAD_BYTES}.`,
        defaultValue: DEFAULT_PAYLOAD_BYTES,
      }),
      after: t.arg.float(resumeArgument),
    },
    subscribe: (_root, { brokerId, filter, maxRate, maxPayloadBytes, after }, context) => {
      const { services, viewer } = context;
      const broker = services.brokers.visible(brokerId, viewer, 'EDITOR');
      const tail = {
        filter,
        maxRate: maxRate ?? DEFAULT_RATE,
        maxPayloadBytes: maxPayloadBytes ?? DEFAULT_PAYLOAD_BYTES,
      };
      return guarded(
        context,
        (current) => services.brokers.visible(brokerId, current, 'EDITOR'),
        (signal) => services.messages.watch(broker, tail, { signal, after }),
      );
    },
    resolve: (event) => event,
  }),
}));
