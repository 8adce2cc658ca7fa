import type { RequestContext } from '../../gateway/context.ts';
import { builder } from '../../gateway/graphql/builder.ts';
import { findsNamedNode, Node } from '../../gateway/graphql/node.ts';
import { BROKER_QUERY_COST, pageCost } from '../../gateway/graphql/page-cost.ts';
import { knownTimeField } from '../../gateway/graphql/time-field.ts';
import { withBroker } from '../../gateway/graphql/type-scopes.ts';
import { nullOn } from '../../platform/errors.ts';
import type { Rival } from '../../protocol/apis/refusals/client-id-fights.ts';
import { DecisionReason, LookedAtType } from '../access-control/graph/access-explanation-schema.ts';
import { Account } from '../access-control/graph/access-objects-schema.ts';
import type { AccessView } from '../access-control/graph/access-view.ts';
import { Broker } from '../brokers/broker-schema.ts';
import { CapabilityReasonType } from '../brokers/capability-reason-schema.ts';
import { ClientFilter } from '../clients/graph/client-filter-schema.ts';
import { whatWouldHelp } from './refusal-advice.ts';
import { RefusalKindType, RefusalReasonType } from './refusal-enums.ts';
import { type RefusalView, viewOf } from './refusal-view.ts';

const RivalType = builder.objectRef<Rival>('TakeoverRival').implement({
  description: 'A connection that replaced another one with the same client id.',
  fields: (t) => ({
    username: t.exposeString('username', {
      description: 'The user name. null: the client sent none, or the broker does not report it.',
      nullable: true,
    }),
    address: t.exposeString('address', { description: 'The IP address of the client.', nullable: true }),
  }),
});

export const RefusalType = builder.objectRef<RefusalView>('Refusal').implement({
  ...withBroker,
  description:
    'Equal refusals of a broker, counted. Names and topics are those that the client sent, truncated to 256 and 512 characters. Fields that the broker does not report are null.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({ description: 'Identifies the entry in the list of the broker.', resolve: ({ id }) => id }),
    kind: t.field({ description: 'What was refused.', type: RefusalKindType, resolve: ({ refusal }) => refusal.kind }),
    reason: t.field({
      description: 'Why it was refused, as exactly as the broker reports it.',
      type: RefusalReasonType,
      resolve: ({ refusal }) => refusal.reason,
    }),
    detail: t.string({
      description: 'Further details in the words of the broker.',
      nullable: true,
      resolve: ({ refusal }) => refusal.detail,
    }),
    whatWouldHelp: t.string({
      description: 'What an operator can do about it.',
      resolve: ({ refusal }) => whatWouldHelp(refusal),
    }),
    firstAt: knownTimeField(t, 'The time of the first of these refusals.', ({ refusal }) => refusal.firstAt),
    lastAt: knownTimeField(t, 'The time of the last of these refusals.', ({ refusal }) => refusal.lastAt),
    count: t.int({ description: 'Number of these refusals.', resolve: ({ refusal }) => refusal.count }),
    isMerged: t.boolean({
      description:
        'Whether several clients, accounts or topics are counted together, without their names: a network has more than 100 entries of this kind.',
      resolve: ({ refusal }) => refusal.isMerged,
    }),
    clientId: t.string({
      description:
        'The client id. Mosquitto reports it for refused connections since 2.0.13, and only if they were not authorized.',
      nullable: true,
      resolve: ({ refusal }) => refusal.clientId,
    }),
    username: t.string({
      description:
        'The user name. The account may not exist. null: the client sent none, or the broker does not report it.',
      nullable: true,
      resolve: ({ refusal }) => refusal.username,
    }),
    account: t.field({
      description: 'The account of this user name. null: it does not exist.',
      type: Account,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: async (view, _args, context) =>
        view.refusal.username === null
          ? null
          : ((await accessOf(view, context))?.account(view.refusal.username) ?? null),
    }),
    address: t.string({
      description:
        'The IP address of the client. With Mosquitto 2.0 and 2.1.0 it is derived from the order of log lines, and null if several clients connected at the same moment.',
      nullable: true,
      resolve: ({ refusal }) => refusal.address,
    }),
    listenerPort: t.int({
      description: 'The port of the listener that the client used the last time.',
      nullable: true,
      resolve: ({ refusal }) => refusal.listenerPort,
    }),
    topic: t.string({
      description:
        'The topic name of a publish or a will, or the topic filter of a subscription, also if MQTT does not allow it.',
      nullable: true,
      resolve: ({ refusal }) => refusal.topic,
    }),
    reasonCode: t.int({
      description:
        'The reason code of MQTT 5 or return code of MQTT 3 that the client got the last time. null: it got none, or the broker does not report it.',
      nullable: true,
      resolve: ({ refusal }) => refusal.reasonCode,
    }),
    takenOverBy: t.field({
      description:
        'TAKEOVER: the connection that replaced the connection of this entry the last time. With several clients on one client id, both change with each takeover. Otherwise null.',
      type: RivalType,
      nullable: true,
      resolve: ({ refusal }) => refusal.takenOverBy ?? null,
    }),
    decision: t.field({
      description: 'ACCESS_DENIED: how access control decided, as `explainAccess` reports it.',
      type: DecisionReason,
      nullable: true,
      resolve: ({ refusal }) => refusal.denial?.decision ?? null,
    }),
    decidedBy: t.field({
      description:
        'ACCESS_DENIED: the rule that decided at that time. null: no rule matched, so the default ACL or the broker decided.',
      type: LookedAtType,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: async (view, _args, context) => {
        const decidedBy = view.refusal.denial?.decidedBy;
        if (!decidedBy) return null;
        const access = await accessOf(view, context);
        return access && { ...decidedBy, view: access };
      },
    }),
  }),
});

findsNamedNode('refusal', async (broker, name, { services }) => {
  const refusal = await services.refusals.find(broker, name);
  return refusal && viewOf(broker, refusal);
});

/** Returns `null` if the broker has no dynamic security. */
async function accessOf({ broker }: RefusalView, { services }: RequestContext): Promise<AccessView | null> {
  return services.accessControl.view(broker).catch(nullOn('NOT_SUPPORTED_BY_BROKER'));
}

export const REFUSALS =
  'At most 1,000 entries; those that were refused least recently are dropped first. Those of before the start of the broker or this service come from the history, which stores the state of each entry once a second.';

builder.interfaceFields(Broker, (t) => ({
  refusals: t.connection(
    {
      description: `Connections, publishes and subscriptions that the broker refused, newest first. ${REFUSALS} Error NOT_SUPPORTED_BY_BROKER if the broker does not report refusals, or none of \`kinds\`; its message says what would help.`,
      type: RefusalType,
      nullable: true,
      complexity: pageCost,
      args: {
        filter: t.arg({ description: 'Only refusals whose user name or client id matches.', type: ClientFilter }),
        clientId: t.arg.string({ description: 'Only refusals of this client id.' }),
        username: t.arg.string({ description: 'Only refusals of this user name.' }),
        kinds: t.arg({ description: 'Only refusals of these kinds.', type: [RefusalKindType] }),
        reasons: t.arg({ description: 'Only refusals with these reasons.', type: [RefusalReasonType] }),
      },
      resolve: async (broker, args, { services }) => {
        const { edges, ...page } = await services.refusals.page(broker, args);
        return { ...page, edges: edges.map(({ cursor, node }) => ({ cursor, node: viewOf(broker, node) })) };
      },
    },
    {
      name: 'RefusalConnection',
      description: 'A page of the refusals of a broker.',
      fields: (connection) => ({
        totalCount: connection.exposeInt('totalCount', { description: 'Size of the whole filtered list.' }),
        since: knownTimeField(
          connection,
          'The time since which the refusals of the broker are followed.',
          ({ list }) => list.since,
        ),
        droppedCount: connection.int({
          description: 'Number of entries that were dropped because there were more than 1,000.',
          resolve: ({ list }) => list.dropped,
        }),
        reportedKinds: connection.field({
          description: 'The kinds of refusals that the broker reports.',
          type: [RefusalKindType],
          resolve: ({ list }) => [...list.kinds],
        }),
        limit: connection.string({
          description: 'What the broker does not report, and what would help. null: it reports everything.',
          nullable: true,
          resolve: ({ list }) => list.limit,
        }),
        limitCode: connection.field({
          description: 'The code of `limit`. null: `limit` is null, or the broker reports no code.',
          type: CapabilityReasonType,
          nullable: true,
          resolve: ({ list }) => list.limitCode,
        }),
      }),
    },
    { name: 'RefusalEdge', description: 'A refusal in a page.' },
  ),
}));
