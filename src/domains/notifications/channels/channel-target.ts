import type { Variables } from '../../../gateway/graphql/document.ts';
import { type InputIssue, type IssuesInfo, ServiceError } from '../../../platform/errors.ts';
import type { Credentials } from './body-template.ts';

/** What is stored sealed of a webhook: its URL may contain a secret, too. */
export interface WebhookSecrets {
  readonly url: string;
  /** Standard Webhooks. `null`: requests are not signed. */
  readonly secret: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly credentials: Credentials;
}

/** A subscription of `problems` or `serviceProblems`, whose result is the body. */
export interface StoredSubscription {
  readonly document: string;
  readonly variables: Variables;
}

export interface WebhookTarget {
  readonly kind: 'WEBHOOK';
  /** Scheme, host and port of the URL. */
  readonly origin: string;
  readonly isSigned: boolean;
  readonly headerNames: readonly string[];
  readonly credentialNames: readonly string[];
  /** At most one of both. Without them the body is the problem. */
  readonly template: string | null;
  readonly subscription: StoredSubscription | null;
}

export interface EmailTarget {
  readonly kind: 'EMAIL';
  readonly to: readonly string[];
}

export interface MqttTarget {
  readonly kind: 'MQTT';
  readonly brokerId: string;
  readonly topic: string;
  readonly qos: 0 | 1 | 2;
}

/** Where a channel sends, without secrets. */
export type ChannelTarget = WebhookTarget | EmailTarget | MqttTarget;

/** Issues of an INVALID error of another part, at `path`. Errors: any other error. */
export function issuesOf(error: unknown, path: string): InputIssue[] {
  if (!(error instanceof ServiceError) || error.info?.issues === undefined) throw error;
  return (error.info as IssuesInfo).issues.map((issue) => ({
    ...issue,
    path: issue.path.replace(/^input/, path),
  }));
}
