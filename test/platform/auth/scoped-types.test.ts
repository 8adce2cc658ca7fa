import {
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isObjectType,
} from 'graphql';
import { expect, test } from 'vitest';
import { schema } from '../../../src/app/schema.ts';
import type { TypeScope } from '../../../src/gateway/graphql/type-scopes.ts';
import { type Field, requirementOf } from './rights-model.ts';

/** Values that belong to a project or broker, with the role that scope-auth requires for every path to them. */
const SCOPED = {
  VIEWER: [
    'AccessControl',
    'AccessExplanation',
    'AccessGroup',
    'AccessRole',
    'Account',
    'AddAccessGroupRolePayload',
    'AddAccountGroupPayload',
    'AddAccountRolePayload',
    'Bridge',
    'BrokerListener',
    'Certificate',
    'CertificateDeployment',
    'ClearStreamMessagesPayload',
    'ClientEvent',
    'ClientQueues',
    'CloudBroker',
    'Cluster',
    'ClusterNode',
    'ConnectedClient',
    'CreateAccessGroupPayload',
    'CreateAccessRolePayload',
    'CreateAccountPayload',
    'CreateStreamPayload',
    'DefaultAcl',
    'DeleteAccessGroupPayload',
    'DeleteAccessRolePayload',
    'DeleteAccountPayload',
    'DeleteClientSessionsPayload',
    'DeleteRetainedMessagesPayload',
    'DeleteStreamPayload',
    'DisableStreamPayload',
    'DisconnectClientPayload',
    'DisconnectClientsPayload',
    'EnableStreamPayload',
    'Grantee',
    'GroupMember',
    'HeldRole',
    'Job',
    'JoinedGroup',
    'LookedAtRule',
    'OnPremiseSetup',
    'Problem',
    'ProblemSilence',
    'ProblemThresholds',
    'Project',
    'ProjectMember',
    'ProjectSettings',
    'PublishMessagePayload',
    'PutAccessGroupPayload',
    'PutAccessRolePayload',
    'PutAccountPayload',
    'PutAclRulePayload',
    'Refusal',
    'RefusalsEvent',
    'RemoveAccessGroupRolePayload',
    'RemoveAccountGroupPayload',
    'RemoveAccountRolePayload',
    'RemoveAclRulePayload',
    'ReplayStreamPayload',
    'RestBrokerInfo',
    'SelfHostedBroker',
    'SetAccountEnabledPayload',
    'SetAccountPasswordPayload',
    'SetAnonymousGroupPayload',
    'SetDefaultAclPayload',
    'SetTopicTtlPayload',
    'SignInRule',
    'StopStreamReplayPayload',
    'Stream',
    'StreamNode',
    'SubscribeClientPayload',
    'Token',
    'TopTraffic',
    'Topic',
    'TopicLevel',
    'TopicSubscribers',
    'TopicTree',
    'TopicsEvent',
    'UnsubscribeClientPayload',
    'UpdateAccessGroupPayload',
    'UpdateAccessRolePayload',
    'UpdateAccountPayload',
    'UpdateBridgeConfigPayload',
    'UpdateStreamPayload',
    'UpdateTopicTreePayload',
  ],
  EDITOR: ['RestProjectSettings', 'RetainedMessage'],
  ADMIN: ['AuditEvent', 'NotificationChannel', 'NotificationDelivery'],
};

const because = (reason: string, names: readonly string[]) => Object.fromEntries(names.map((name) => [name, reason]));
const ofAccounts = (...names: string[]) => because('belongs to the account of the caller', names);
const ofOrganizations = (...names: string[]) => because('is visible to members of the organization', names);

/** Types that callers without a role in a project reach, and why their values are no secret of a project. */
const OPEN: Readonly<Record<string, string>> = {
  HistoryStorage: 'describes how long and how much this service stores, of all projects together',
  FleetMetrics: 'adds up brokers that the caller may see',
  FleetNumbers: 'adds up brokers that the caller may see',
  PageInfo: 'contains cursors',
  ProblemConnection: 'contains problems, which have a scope',
  ProblemCounts: 'counts problems that the caller may see',
  ProblemEdge: 'contains a problem, which has a scope',
  ProjectConnection: 'contains projects, which have a scope',
  ProjectEdge: 'contains a project, which has a scope',
  CreateProjectPayload: 'contains a project, which has a scope',
  CertificateInfo: 'is computed from the input of the caller, or belongs to a certificate, which has a scope',
  StreamPreview: 'is computed from the input of the caller',
  StreamPreviewResult: 'is computed from the input of the caller',
  User: 'is the caller, or a user that the parent lists; fields with more rights declare them',
  Viewer: 'is the caller',
  ...ofAccounts('Session', 'EndSessionPayload', 'EndOtherSessionsPayload', 'LoginPayload', 'LogoutPayload'),
  ...ofAccounts(
    'AcceptInvitationPayload',
    'ChangePasswordPayload',
    'CompleteSignInPayload',
    'RemoveSecondFactorPayload',
  ),
  ...ofAccounts('BeginSecondFactorPayload', 'ConfirmSecondFactorPayload', 'Identity'),
  SignInOffers: 'is public',
  ...ofOrganizations('Organization', 'OrganizationConnection', 'OrganizationEdge', 'OrganizationMember'),
  ...ofOrganizations('OrganizationMemberConnection', 'OrganizationMemberEdge', 'CreateOrganizationPayload'),
  ...ofOrganizations('DeleteOrganizationPayload', 'SetOrganizationMemberPayload', 'RemoveOrganizationMemberPayload'),
};

const scopeOf = (type: GraphQLObjectType): TypeScope | undefined =>
  [type, ...type.getInterfaces()].map(({ extensions }) => extensions.scope as TypeScope | undefined).find(Boolean);

/** Whether the field itself requires a role. */
function isClosed(field: Field): boolean {
  const requires = requirementOf(field)?.requires ?? 'SIGNED_IN';
  return requires !== 'PUBLIC' && requires !== 'SIGNED_IN' && requires !== 'PERSON';
}

/** The object types that lead to a value without any check of a role. */
function openTypes(graph: GraphQLSchema): string[] {
  const roots = [graph.getQueryType(), graph.getMutationType(), graph.getSubscriptionType()];
  const found = new Set<GraphQLObjectType>();
  const follow = (type: GraphQLNamedType): void => {
    if (isAbstractType(type)) for (const one of graph.getPossibleTypes(type)) follow(one);
    if (!isObjectType(type) || found.has(type) || scopeOf(type) !== undefined) return;
    found.add(type);
    followFields(type);
  };
  const followFields = (type: GraphQLObjectType) => {
    for (const field of Object.values(type.getFields())) if (!isClosed(field)) follow(getNamedType(field.type));
  };
  for (const root of roots) if (root) followFields(root);
  return [...found].map(({ name }) => name).sort();
}

test('every type whose values belong to a project or broker declares the role', () => {
  const declared = Object.values(schema.getTypeMap()).filter(
    (type): type is GraphQLObjectType => isObjectType(type) && scopeOf(type) !== undefined,
  );
  for (const type of declared) expect(type.isTypeOf, `${type.name} is checked`).toBeTypeOf('function');
  for (const [role, names] of Object.entries(SCOPED)) {
    const found = declared.filter((type) => scopeOf(type)?.role === role).map(({ name }) => name);
    expect(found.sort(), role).toEqual(names);
  }
});

test('callers without a role reach only types whose values are no secret of a project', () => {
  expect(openTypes(schema).filter((name) => OPEN[name] === undefined)).toEqual([]);
});
