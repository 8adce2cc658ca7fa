import { type InputIssue, ServiceError } from '../../../platform/errors.ts';
import type { DisconnectClient } from '../../../protocol/apis/clients/client-control.ts';
import { filterProblem, lengthProblem } from '../../../protocol/mqtt/topics.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';

/** MQTT 5, 3.8.2.1.2. */
export const MAX_SUBSCRIPTION_IDENTIFIER = 268_435_455;

/** Checks a client id [MQTT-1.5.4-1, MQTT-1.5.4-2, 1.5.4]. */
export function clientIdIssues(path: string, clientId: string): InputIssue[] {
  if (clientId === '') return [{ path, reason: 'must not be empty' }];
  const tooLong = lengthProblem(clientId);
  if (tooLong !== null) return [{ path, reason: tooLong }];
  if (!/\0|\p{Surrogate}/u.test(clientId)) return [];
  return [{ path, reason: 'must not contain NUL or half a surrogate pair' }];
}

/** Refuses shared subscriptions (they take messages from other clients) and filters that match $CONTROL topics. */
export function topicIssues(path: string, topic: string): InputIssue[] {
  const reason = topicProblem(topic);
  return reason === null ? [] : [{ path, reason }];
}

function topicProblem(topic: string): string | null {
  const [root] = topic.split('/', 1);
  if (root === '$share') return 'must not be a shared subscription';
  if (root === '$CONTROL') return 'must not be below $CONTROL';
  if (/\p{Surrogate}/u.test(topic)) return 'must not contain half a surrogate pair';
  return filterProblem(topic);
}

interface SubscriptionOptions {
  readonly qos: number;
  readonly subscriptionIdentifier?: number | null | undefined;
}

export function subscriptionIssues({ qos, subscriptionIdentifier }: SubscriptionOptions): InputIssue[] {
  const issues: InputIssue[] = [];
  const identifier = subscriptionIdentifier ?? 1;
  if (qos !== 0 && qos !== 1 && qos !== 2) issues.push({ path: 'input.qos', reason: 'must be 0, 1 or 2' });
  if (identifier < 1 || identifier > MAX_SUBSCRIPTION_IDENTIFIER) {
    issues.push({ path: 'input.subscriptionIdentifier', reason: `must be from 1 to ${MAX_SUBSCRIPTION_IDENTIFIER}` });
  }
  return issues;
}

/** The field for a broker that serves the API itself. Errors: NOT_SUPPORTED_BY_BROKER if the broker has none for it. */
export function willField({ engine }: BrokerRecord, discardWill: unknown): Pick<DisconnectClient, 'discardWill'> {
  if (discardWill !== true) return {};
  if (engine === 'embedded') return { discardWill };
  const reason = 'This broker decides itself whether it publishes the wills of clients that it disconnects';
  throw new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { reason } });
}
