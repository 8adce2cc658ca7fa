import type { TrustedConnection } from '../model/bridge-kind.ts';

/** What the schema of `mqtt-bridge` describes. */
export interface MqttBridgeConfig {
  readonly connections: readonly MqttConnectionConfig[];
}

export interface MqttConnectionConfig extends TrustedConnection {
  readonly name: string;
  readonly active?: boolean;
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
  readonly clientId?: string;
  /** Seconds. */
  readonly keepalive?: number;
  /** PEM. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly verifyCa?: boolean;
  readonly topics: readonly TopicRule[];
  readonly queue?: { readonly maxMessages?: number; readonly maxBytes?: number };
}

export interface TopicRule {
  readonly pattern: string;
  readonly direction: 'in' | 'out' | 'both';
  readonly qos?: 0 | 1 | 2;
  readonly localPrefix?: string;
  readonly remotePrefix?: string;
  readonly retain?: boolean;
}

/** From the broker that the bridge stands beside to the other one, or back. */
export type Way = 'out' | 'in';

export const QUEUE_BOUNDS = { maxMessages: 100_000, maxBytes: 268_435_456 } as const;
export const DEFAULT_QOS = 1;

export const waysOf = ({ direction }: TopicRule): readonly Way[] =>
  direction === 'both' ? ['out', 'in'] : [direction];

/** What is subscribed to where messages come from. */
export function sourceFilter({ pattern, localPrefix = '', remotePrefix = '' }: TopicRule, way: Way): string {
  return (way === 'out' ? localPrefix : remotePrefix) + pattern;
}

/** What their topics match where they go. */
export const targetFilter = (rule: TopicRule, way: Way): string => sourceFilter(rule, way === 'out' ? 'in' : 'out');

/**
 * The topic that a message has on the other side, as in Mosquitto (`topic` in mosquitto.conf): the prefix of the side that it comes from is
 * taken off, where it begins with it, and that of the other side is put before it.
 */
export function targetTopic({ localPrefix = '', remotePrefix = '' }: TopicRule, way: Way, topic: string): string {
  const [from, to] = way === 'out' ? [localPrefix, remotePrefix] : [remotePrefix, localPrefix];
  if (from === '' && to === '') return topic;
  return to + (topic.startsWith(from) ? topic.slice(from.length) : topic);
}
