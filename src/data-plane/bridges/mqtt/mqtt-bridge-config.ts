import { withoutNulls } from '../../../platform/without-nulls.ts';
import type { SourceFilter } from '../link/source-subscriptions.ts';
import { type BridgeRules, hostRules, type TrustedConnection } from '../model/bridge-kind.ts';
import type { QueueBounds } from '../queue/queue-storage.ts';

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
  /** Default: false. */
  readonly stopsLoops?: boolean;
  readonly topics: readonly TopicRule[];
  readonly queue?: Partial<QueueBounds>;
}

export interface TopicRule {
  readonly pattern: string;
  readonly direction: 'in' | 'out' | 'both';
  readonly qos?: 0 | 1 | 2;
  readonly localPrefix?: string;
  readonly remotePrefix?: string;
  readonly retain?: boolean;
}

/** `out`: from the broker of the bridge to the other one. `in`: back. */
export type Way = 'out' | 'in';

export const DEFAULT_QOS = 1;

export const waysOf = ({ direction }: TopicRule): readonly Way[] =>
  direction === 'both' ? ['out', 'in'] : [direction];

export function sourceFilter({ pattern, localPrefix = '', remotePrefix = '' }: TopicRule, way: Way): string {
  return (way === 'out' ? localPrefix : remotePrefix) + pattern;
}

export const targetFilter = (rule: TopicRule, way: Way): string => sourceFilter(rule, way === 'out' ? 'in' : 'out');

/** Topics that brokers serve themselves. Others that begin with `$`, such as `$aws/…`, are forwarded. */
const OWN_TOPIC = /^\$(SYS|CONTROL|share)(\/|$)/;

/** Why a broker does not deliver the messages of a filter to a bridge, or `null`. What it reports is read only. */
export function sourceProblem(filter: string, way: Way): string | null {
  const own = OWN_TOPIC.exec(filter)?.[1];
  if (own === undefined || (own === 'SYS' && way === 'in')) return null;
  return `topics of $${own} are not passed ${way}`;
}

/** Why no bridge publishes to a topic, or `null`. */
export function targetProblem(topic: string): string | null {
  const own = OWN_TOPIC.exec(topic)?.[1];
  return own === undefined ? null : `is below $${own}, which is the broker's own`;
}

/**
 * The topic of a message at the target, as in Mosquitto (`topic` in mosquitto.conf): removes the prefix of the source
 * if the topic starts with it, and adds the prefix of the target.
 */
export function targetTopic({ localPrefix = '', remotePrefix = '' }: TopicRule, way: Way, topic: string): string {
  const [from, to] = way === 'out' ? [localPrefix, remotePrefix] : [remotePrefix, localPrefix];
  if (from === '' && to === '') return topic;
  return to + (topic.startsWith(from) ? topic.slice(from.length) : topic);
}

export interface RuleFilter extends SourceFilter {
  readonly rules: readonly TopicRule[];
}

export function filtersOf(topics: readonly TopicRule[], way: Way): RuleFilter[] {
  const byFilter = new Map<string, TopicRule[]>();
  for (const rule of topics) {
    if (!waysOf(rule).includes(way)) continue;
    const filter = sourceFilter(rule, way);
    byFilter.set(filter, [...(byFilter.get(filter) ?? []), rule]);
  }
  return Array.from(byFilter, ([filter, rules]) => ({
    filter,
    rules,
    qos: Math.max(...rules.map(({ qos = DEFAULT_QOS }) => qos)) as 0 | 1 | 2,
    retained: rules.some(({ retain = true }) => retain),
  }));
}

/** The other broker, and how it is connected to. */
export function remoteAddress(config: MqttConnectionConfig, rules: BridgeRules) {
  const { url, username, password, keepalive, ca, cert, key, verifyCa } = config;
  const more = { username, password, keepaliveSeconds: keepalive, ca, cert, key, verifyCa };
  return { url, ...hostRules(rules, config), ...withoutNulls(more) };
}
