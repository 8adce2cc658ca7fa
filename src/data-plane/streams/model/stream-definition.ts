import type { StreamQuery } from './stream-query.ts';

/** QoS with which a stream publishes. -1: the QoS of the received message. */
export type StreamQos = -1 | 0 | 1 | 2;

/** The definition of a stream. `name` is the stream's key on a broker; a stream cannot be renamed. */
export interface StreamDefinition {
  readonly name: string;
  readonly sourceTopic: string;
  readonly targetTopic: string | null;
  readonly targetQos: StreamQos;
  /** Minimum retention in seconds; the maximum is twice that. 0: messages are stored until cleared. */
  readonly ttl: number;
  readonly active: boolean;
  readonly process: boolean;
  readonly persist: boolean;
  /** Stored here and sent to brokers that support it; this service does not use it. */
  readonly key: string | null;
  readonly query: StreamQuery;
  readonly textName: string | null;
  readonly textDescription: string | null;
}

/** Fields that may be `null`, which the stream API writes as an empty string. */
export const NULLABLE_FIELDS: ReadonlySet<string> = new Set<keyof StreamDefinition>([
  'targetTopic',
  'key',
  'textName',
  'textDescription',
]);

export const DEFAULT_DEFINITION = {
  targetTopic: null,
  targetQos: -1,
  ttl: 86_400,
  active: true,
  process: true,
  persist: false,
  key: null,
  query: {},
  textName: null,
  textDescription: null,
} as const satisfies Omit<StreamDefinition, 'name' | 'sourceTopic'>;
