import type { JsonSchema } from '../model/bridge-kind.ts';
import type { BatchBounds } from './sink.ts';

export const nameSchema: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 200,
  description:
    'Names the connection; unique in this bridge. Another name is another connection, with a queue of its own.',
};

export const activeSchema: JsonSchema = {
  type: 'boolean',
  default: true,
  description: 'Whether it receives messages. Queued messages remain if it is switched off.',
};

export const filtersSchema: JsonSchema = {
  type: 'array',
  minItems: 1,
  maxItems: 1_000,
  items: { type: 'string', minLength: 1, description: 'A topic filter; + and # as in MQTT.' },
  description: 'Filters of the topics whose messages are delivered.',
};

export const qosSchema: JsonSchema = {
  enum: [0, 1, 2],
  default: 1,
  description: 'With 1 and 2 nothing is lost between the broker and the queue; with 0 it may be.',
};

export const queueSchema: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  description:
    'Limits of the queue on disk, for messages that cannot be delivered yet. If it is full, new messages are dropped and counted.',
  properties: {
    maxMessages: {
      type: 'integer',
      minimum: 1,
      maximum: 100_000_000,
      default: 100_000,
      description: 'Maximum number of messages.',
    },
    maxBytes: {
      type: 'integer',
      minimum: 1_024,
      maximum: 1_099_511_627_776,
      default: 268_435_456,
      description: 'Maximum bytes of topics and payloads. BRIDGE_STORAGE_MAX_MB bounds all queues together.',
    },
  },
};

export const batchSchema = (bounds: BatchBounds, maxMessages: number): JsonSchema => ({
  type: 'object',
  additionalProperties: false,
  description: 'Limits of one batch.',
  properties: {
    maxMessages: {
      type: 'integer',
      minimum: 1,
      maximum: maxMessages,
      default: bounds.maxMessages,
      description: 'Maximum number of messages.',
    },
    maxBytes: {
      type: 'integer',
      minimum: 1_024,
      maximum: 67_108_864,
      default: bounds.maxBytes,
      description: 'Maximum bytes of topics and payloads; a single larger message is a batch of its own.',
    },
    maxDelayMs: {
      type: 'integer',
      minimum: 0,
      maximum: 60_000,
      default: bounds.maxDelayMs,
      description: 'How long an incomplete batch waits for more messages, in milliseconds. 0: it does not wait.',
    },
  },
});
