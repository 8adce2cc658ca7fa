import type {
  AccessPolicy,
  AclRule,
  AclType,
  DefaultAcl,
  Membership,
} from '../../../../src/protocol/apis/access-control/access-model.ts';

export const NOTHING: DefaultAcl = {
  publishClientSend: false,
  publishClientReceive: false,
  subscribe: false,
  unsubscribe: false,
};

/** First words of rules: `send a/#`, `no send @2 a/#` (denied, priority 2), `subscribe-literal a/+`. */
const SHORT: Readonly<Record<string, AclType>> = {
  send: 'publishClientSend',
  receive: 'publishClientReceive',
  subscribe: 'subscribePattern',
  'subscribe-literal': 'subscribeLiteral',
  unsubscribe: 'unsubscribePattern',
  'unsubscribe-literal': 'unsubscribeLiteral',
};

export function rule(text: string): AclRule {
  const match = /^(no )?(\S+) (?:@(-?\d+) )?(.*)$/.exec(text);
  const aclType = SHORT[match?.[2] ?? ''];
  if (!match || !aclType) throw new Error(`not a rule: ${text}`);
  return { aclType, topic: match[4] ?? '', priority: Number(match[3] ?? 0), allow: match[1] === undefined };
}

interface PolicyParts {
  readonly roles?: Readonly<Record<string, readonly string[]>>;
  /** Roles that do not allow wildcards in subscriptions. */
  readonly withoutWildcards?: readonly string[];
  readonly groups?: Readonly<Record<string, readonly (string | Membership)[]>>;
  readonly clients?: Readonly<
    Record<
      string,
      {
        readonly roles?: readonly (string | Membership)[];
        readonly groups?: readonly (string | Membership)[];
        readonly clientId?: string;
        readonly disabled?: boolean;
      }
    >
  >;
  readonly defaultAcl?: Partial<DefaultAcl>;
  readonly anonymousGroup?: string;
}

export function policyOf(parts: PolicyParts): AccessPolicy {
  const texts = { textName: null, textDescription: null };
  const held = (names: readonly (string | Membership)[] = []) =>
    names.map((name) => (typeof name === 'string' ? { name, priority: -1 } : name));
  return {
    roles: new Map(
      Object.entries(parts.roles ?? {}).map(([rolename, rules]) => [
        rolename,
        {
          rolename,
          ...texts,
          allowWildcardSubs: !parts.withoutWildcards?.includes(rolename),
          acls: rules.map(rule),
        },
      ]),
    ),
    groups: new Map(
      Object.entries(parts.groups ?? {}).map(([groupname, roles]) => [
        groupname,
        { groupname, ...texts, roles: held(roles) },
      ]),
    ),
    clients: new Map(
      Object.entries(parts.clients ?? {}).map(([username, { roles, groups, clientId, disabled }]) => [
        username,
        {
          username,
          ...texts,
          clientId: clientId ?? null,
          disabled: disabled ?? false,
          roles: held(roles),
          groups: held(groups),
        },
      ]),
    ),
    defaultAcl: { ...NOTHING, ...parts.defaultAcl },
    anonymousGroup: parts.anonymousGroup ?? null,
  };
}
