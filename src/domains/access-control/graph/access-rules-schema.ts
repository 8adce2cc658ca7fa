import { builder } from '../../../gateway/graphql/builder.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import type {
  AclRule as AclRuleData,
  DefaultAclType as DefaultAclTypeName,
} from '../../../protocol/apis/access-control/access-model.ts';
import { DEFAULT_ACL_TYPES } from '../../../protocol/apis/access-control/access-model.ts';
import type { AccessView } from './access-view.ts';

export const AclType = builder.enumType('AclType', {
  description: 'The kind of access that a rule decides on.',
  values: {
    PUBLISH_CLIENT_SEND: { value: 'publishClientSend', description: 'A client publishes.' },
    PUBLISH_CLIENT_RECEIVE: { value: 'publishClientReceive', description: 'A client receives a message.' },
    SUBSCRIBE_LITERAL: { value: 'subscribeLiteral', description: 'A client subscribes to exactly this filter.' },
    SUBSCRIBE_PATTERN: {
      value: 'subscribePattern',
      description: 'A client subscribes to a filter that the filter of the rule covers.',
    },
    UNSUBSCRIBE_LITERAL: {
      value: 'unsubscribeLiteral',
      description: 'A client unsubscribes from exactly this filter.',
    },
    UNSUBSCRIBE_PATTERN: {
      value: 'unsubscribePattern',
      description: 'A client unsubscribes from a filter that the filter of the rule covers.',
    },
  } as const,
});

export const DefaultAclType = builder.enumType('DefaultAclType', {
  description: 'The kind of access that a default decides on.',
  values: {
    PUBLISH_CLIENT_SEND: { value: 'publishClientSend', description: 'A client publishes.' },
    PUBLISH_CLIENT_RECEIVE: { value: 'publishClientReceive', description: 'A client receives a message.' },
    SUBSCRIBE: { value: 'subscribe', description: 'A client subscribes to a filter.' },
    UNSUBSCRIBE: { value: 'unsubscribe', description: 'A client unsubscribes from a filter.' },
  } as const,
});

/** Descriptions of fields that rules and their inputs have. */
export const RULE = {
  aclType: 'The kind of access that the rule decides on.',
  allow: 'Whether the rule allows the access. false: it denies the access.',
} as const;

/** Descriptions of the defaults. */
export const DEFAULT_ACCESS = {
  publishClientSend: 'Whether clients may publish if no rule matches.',
  publishClientReceive: 'Whether clients receive a message if no rule matches.',
  subscribe: 'Whether clients may subscribe if no rule matches.',
  unsubscribe: 'Whether clients may unsubscribe if no rule matches.',
} as const satisfies Record<DefaultAclTypeName, string>;

export const AclRule = builder.objectRef<AclRuleData>('AclRule').implement({
  description: 'A rule of a role, identified by its type and topic.',
  fields: (t) => ({
    aclType: t.expose('aclType', { description: RULE.aclType, type: AclType }),
    topic: t.exposeString('topic', { description: 'A topic name or a topic filter.' }),
    priority: t.exposeInt('priority', {
      description: 'Higher priorities are evaluated first. The first matching rule decides.',
    }),
    allow: t.exposeBoolean('allow', { description: RULE.allow }),
  }),
});

type DefaultAclEntryData = { readonly aclType: DefaultAclTypeName; readonly allow: boolean };

const RestDefaultAclEntry = builder.objectRef<DefaultAclEntryData>('RestDefaultAclEntry').implement({
  description: 'Internal: for the REST interface. The default for one kind of access.',
  fields: (t) => ({
    aclType: t.expose('aclType', { description: 'The kind of access.', type: DefaultAclType }),
    allow: t.exposeBoolean('allow', { description: 'Whether the access is allowed if no rule matches.' }),
  }),
});

export const DefaultAcl = builder.objectRef<AccessView>('DefaultAcl').implement({
  ...withBroker,
  description: 'The decision if no rule matches. It never allows $CONTROL topics.',
  fields: (t) => ({
    ...Object.fromEntries(
      DEFAULT_ACL_TYPES.map((type) => [
        type,
        t.boolean({ description: DEFAULT_ACCESS[type], resolve: ({ policy }) => policy.defaultAcl[type] }),
      ]),
    ),
    restAcls: t.field({
      description: 'Internal: for the REST interface, which has the same values as a list of one list.',
      type: t.listRef(t.listRef(RestDefaultAclEntry)),
      resolve: ({ policy }) => [DEFAULT_ACL_TYPES.map((aclType) => ({ aclType, allow: policy.defaultAcl[aclType] }))],
    }),
  }),
});
