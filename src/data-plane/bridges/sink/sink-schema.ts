import { flagSchema, integerSchema, type JsonSchema, textSchema } from '../model/bridge-kind.ts';
import { QUEUE_BOUNDS } from '../queue/queue-storage.ts';
import type { BatchBounds } from './sink.ts';

export const nameSchema = textSchema(
  'Names the connection; unique in this bridge. Another name is another connection, with a queue of its own.',
  { minLength: 1, maxLength: 200 },
);

export const activeSchema = flagSchema(
  'Whether it receives messages. Queued messages remain if it is switched off.',
  true,
);

export const filtersSchema: JsonSchema = {
  type: 'array',
  minItems: 1,
  maxItems: 1_000,
  items: textSchema('A topic filter; + and # as in MQTT.', { minLength: 1 }),
  description: 'Filters of the topics whose messages are delivered.',
};

export const qosSchema: JsonSchema = {
  enum: [0, 1, 2],
  default: 1,
  description: 'With 1 and 2 nothing is lost between the broker and the queue; with 0 it may be.',
};

const { maxMessages, maxBytes } = QUEUE_BOUNDS;

export const queueSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  description:
    'Limits of the queue on disk, for messages that cannot be delivered yet. If it is full, new messages are dropped and counted.',
  properties: {
    maxMessages: integerSchema('Maximum number of messages.', [1, 100_000_000], maxMessages),
    maxBytes: integerSchema(
      'Maximum bytes of topics and payloads. BRIDGE_STORAGE_MAX_MB bounds all queues together.',
      [1_024, 1_099_511_627_776],
      maxBytes,
    ),
  },
};

export const batchSchema = (bounds: BatchBounds, mostMessages: number): JsonSchema => ({
  type: 'object',
  additionalProperties: false,
  description: 'Limits of one batch.',
  properties: {
    maxMessages: integerSchema('Maximum number of messages.', [1, mostMessages], bounds.maxMessages),
    maxBytes: integerSchema(
      'Maximum bytes of topics and payloads; a single larger message is a batch of its own.',
      [1_024, 67_108_864],
      bounds.maxBytes,
    ),
    maxDelayMs: integerSchema(
      'How long an incomplete batch waits for more messages, in milliseconds. 0: it does not wait.',
      [0, 60_000],
      bounds.maxDelayMs,
    ),
  },
});
