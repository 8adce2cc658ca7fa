import type { StreamQuery } from './stream-query.ts';

/** QoS of what a stream publishes: -1 is that of the message that came in. */
export type StreamQos = -1 | 0 | 1 | 2;

/** What a stream is to do. Its name is its key on a broker; a stream cannot be renamed. */
export interface StreamDefinition {
  readonly name: string;
  /** A topic filter that does not begin with `$`. */
  readonly sourceTopic: string;
  /** Null: nothing is published. */
  readonly targetTopic: string | null;
  readonly targetQos: StreamQos;
  /** Seconds for which stored messages are kept at least, and at most twice that; 0: until they are cleared. */
  readonly ttl: number;
  /** False: nothing is processed, stored or published. */
  readonly active: boolean;
  /** False: payloads pass as they are, whatever the query. */
  readonly process: boolean;
  /** What leaves the query is stored, to be replayed. */
  readonly persist: boolean;
  /** Kept and passed on to brokers that know it; means nothing here. */
  readonly key: string | null;
  readonly query: StreamQuery;
  readonly textName: string | null;
  readonly textDescription: string | null;
}

/** What a stream is that says no more than its name and source. */
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
