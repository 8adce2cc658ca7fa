import type { Scope } from '../problems/scope-fields.tsx';
import type { Channel, Rules, Target } from './channel-graph.ts';

export const CHANGES = ['BOTH', 'OPENED', 'CLOSED'] as const;
export const TARGETS = ['WEBHOOK', 'EMAIL', 'MQTT'] as const;
/** The problem as it is, a template of the body, or the result of a subscription. */
export const BODIES = ['PROBLEM', 'TEMPLATE', 'DOCUMENT'] as const;

export interface NamedValue {
  readonly name: string;
  readonly value: string;
}

/** The values of the form of a channel. */
export interface ChannelDraft extends Scope {
  readonly name: string;
  readonly changes: (typeof CHANGES)[number];
  readonly minimumSeconds: number;
  readonly digestMinutes: number;
  /** Whether a new target replaces that of the channel, whose secrets are not returned. */
  readonly hasTarget: boolean;
  readonly kind: (typeof TARGETS)[number];
  readonly url: string;
  readonly isSigned: boolean;
  readonly headers: readonly NamedValue[];
  readonly credentials: readonly NamedValue[];
  readonly body: (typeof BODIES)[number];
  readonly template: string;
  readonly document: string;
  /** Text of JSON. */
  readonly variables: string;
  /** One e-mail address a line. */
  readonly to: string;
  readonly brokerId: string;
  readonly topic: string;
  readonly qos: number;
}

const EXAMPLE_DOCUMENT = `subscription ($id: ID!) {
  problems(projectId: $id) {
    problems { kind severity title detail closedAt broker { name } }
  }
}`;
const EXAMPLE_OF_SERVICE = `subscription {
  serviceProblems {
    problems { kind severity title detail closedAt }
  }
}`;

/** The form of a channel, without its secrets; `null`: a new one. */
export function draftOf(channel: Channel | null, projectId: string | null): ChannelDraft {
  const { rules, webhook, email, mqtt } = channel ?? {};
  const unknown = (names: readonly string[] | undefined) => (names ?? []).map((name) => ({ name, value: '' }));
  const withoutDocument = webhook?.template == null ? 'PROBLEM' : 'TEMPLATE';
  return {
    name: channel?.name ?? '',
    brokerIds: rules?.brokerIds ?? [],
    kinds: rules?.kinds ?? [],
    severities: rules?.severities ?? [],
    changes: rules?.changes ?? 'BOTH',
    minimumSeconds: rules?.minimumSeconds ?? 0,
    digestMinutes: rules?.digestMinutes ?? 0,
    hasTarget: channel === null,
    kind: channel?.kind ?? 'WEBHOOK',
    url: '',
    isSigned: webhook?.isSigned ?? true,
    headers: unknown(webhook?.headerNames),
    credentials: unknown(webhook?.credentialNames),
    body: webhook?.document == null ? withoutDocument : 'DOCUMENT',
    template: webhook?.template ?? '',
    document: webhook?.document ?? (projectId === null ? EXAMPLE_OF_SERVICE : EXAMPLE_DOCUMENT),
    variables: JSON.stringify(webhook?.variables ?? (projectId === null ? {} : { id: projectId })),
    to: (email?.to ?? []).join('\n'),
    brokerId: mqtt?.broker?.id ?? '',
    topic: mqtt?.topic ?? '',
    qos: mqtt?.qos ?? 1,
  };
}

export const withoutSecrets = (draft: ChannelDraft): ChannelDraft => ({
  ...draft,
  credentials: draft.credentials.map(({ name }) => ({ name, value: '' })),
});

export const rulesOf = (draft: ChannelDraft): Rules => ({
  brokerIds: [...draft.brokerIds],
  kinds: [...draft.kinds],
  severities: [...draft.severities],
  changes: draft.changes,
  minimumSeconds: draft.minimumSeconds,
  digestMinutes: draft.digestMinutes,
});

/** `secret` signs webhooks; `null`: they are not signed. Errors: SyntaxError if the variables are no JSON. */
export function targetOf(draft: ChannelDraft, secret: string | null): Target {
  const { kind, url, body, template, document, variables, brokerId, topic, qos } = draft;
  if (kind === 'EMAIL') return { email: { to: linesOf(draft.to) } };
  if (kind === 'MQTT') return { mqtt: { brokerId, topic, qos } };
  return {
    webhook: {
      url,
      ...(secret !== null && { secret }),
      headers: named(draft.headers),
      credentials: named(draft.credentials),
      ...(body === 'TEMPLATE' && { template }),
      ...(body === 'DOCUMENT' && { document, variables: JSON.parse(variables) as unknown }),
    },
  };
}

const linesOf = (text: string): string[] => text.split(/[\s,;]+/).filter((line) => line !== '');

/** A row that is empty was not filled in. */
const named = (values: readonly NamedValue[]): NamedValue[] =>
  values.filter(({ name, value }) => name !== '' || value !== '').map(({ name, value }) => ({ name, value }));
