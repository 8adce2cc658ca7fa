import { type InputIssue, invalid } from '../../../platform/errors.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';

/** MQTT 5, 3.8.2.1.2. */
export const MAX_SUBSCRIPTION_IDENTIFIER = 268_435_455;

/** Why a text is not a valid client id [MQTT-1.5.4-1, MQTT-1.5.4-2, 1.5.4]. */
export function clientIdIssues(path: string, clientId: string): InputIssue[] {
  const reason = clientIdProblem(clientId);
  return reason === null ? [] : [{ path, reason }];
}

function clientIdProblem(clientId: string): string | null {
  if (clientId === '') return 'must not be empty';
  if (Buffer.byteLength(clientId) > 65_535) return 'must not exceed 65535 bytes';
  if (/\0|\p{Surrogate}/u.test(clientId)) return 'must not contain NUL or half a surrogate pair';
  return null;
}

/** Refuses filters that take messages from other clients of a group, or carry commands of administrators. */
export function topicIssues(path: string, topic: string): InputIssue[] {
  const reason = topicProblem(topic);
  return reason === null ? [] : [{ path, reason }];
}

function topicProblem(topic: string): string | null {
  if (topic === '$share' || topic.startsWith('$share/')) return 'must not be a shared subscription';
  if (topic === '$CONTROL' || topic.startsWith('$CONTROL/')) return 'must not be below $CONTROL';
  if (/\p{Surrogate}/u.test(topic)) return 'must not contain half a surrogate pair';
  return filterProblem(topic);
}

interface SubscriptionOptions {
  readonly qos: number;
  readonly subscriptionIdentifier?: number | null | undefined;
}

export function subscriptionIssues({ qos, subscriptionIdentifier }: SubscriptionOptions): InputIssue[] {
  const issues: InputIssue[] = [];
  if (qos !== 0 && qos !== 1 && qos !== 2) issues.push({ path: 'input.qos', reason: 'must be 0, 1 or 2' });
  if (
    subscriptionIdentifier != null &&
    (subscriptionIdentifier < 1 || subscriptionIdentifier > MAX_SUBSCRIPTION_IDENTIFIER)
  ) {
    issues.push({ path: 'input.subscriptionIdentifier', reason: `must be from 1 to ${MAX_SUBSCRIPTION_IDENTIFIER}` });
  }
  return issues;
}

/** Errors: INVALID with all issues, if there are any. */
export function refuseIssues(issues: readonly InputIssue[]): void {
  if (issues.length > 0) throw invalid(issues);
}
