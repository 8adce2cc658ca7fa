import { builder } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { findsNode, Node } from '../../../gateway/graphql/node.ts';
import { pageCost } from '../../../gateway/graphql/page-cost.ts';
import { type RowList, rowConnection, SHORT_PAGES } from '../../../gateway/graphql/row-connection.ts';
import { totalCount } from '../../../gateway/graphql/total-count.ts';
import { belongsToProject } from '../../../gateway/graphql/type-scopes.ts';
import type { DeliveryState, NotificationKind } from '../../../generated/sqlite/client.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { ProblemKindType, ProblemSeverityType } from '../../problems/graph/problem-enums.ts';
import type { ProblemKind, ProblemSeverity } from '../../problems/model/problem-kinds.ts';
import { Project } from '../../projects/project-schema.ts';
import type { Channel } from '../channels/channel.ts';
import type { EmailTarget, MqttTarget, WebhookTarget } from '../channels/channel-target.ts';
import type { NOTIFIED_CHANGES, NotificationRules } from '../channels/notification-rules.ts';
import { MAX_ENDED } from '../delivery/delivery-former.ts';

const Kind = describedEnum<NotificationKind>('NotificationKind', 'How a channel sends.', {
  WEBHOOK: 'By HTTP POST, with the headers of Standard Webhooks.',
  EMAIL: 'By e-mail, with the SMTP server of the service.',
  MQTT: 'By a message to a topic of a broker.',
});

const State = describedEnum<DeliveryState>('NotificationDeliveryState', 'Whether a message has arrived.', {
  PENDING: 'The message waits, for its first attempt or for the next one.',
  DELIVERED: 'The receiver has accepted the message.',
  DEAD: 'The message is not sent again by itself: see `error`. `resendNotificationDelivery` does.',
});

export const NotifiedChanges = describedEnum<(typeof NOTIFIED_CHANGES)[number]>(
  'NotifiedChanges',
  'Which changes of problems a channel sends.',
  {
    OPENED: 'That a problem opened, or became more severe.',
    CLOSED: 'That a problem closed.',
    BOTH: 'Openings and closings.',
  },
);

const Rules = builder.objectRef<NotificationRules>('NotificationRules').implement({
  description: 'Which changes of problems a channel sends, and when. Openings wait for the end of a silence.',
  fields: (t) => ({
    kinds: t.field({
      description: 'Kinds of problems. Empty: all.',
      type: [ProblemKindType],
      resolve: ({ kinds }) => kinds as ProblemKind[],
    }),
    severities: t.field({
      description: 'Severities of problems. Empty: all.',
      type: [ProblemSeverityType],
      resolve: ({ severities }) => severities as ProblemSeverity[],
    }),
    brokerIds: t.idList({
      description: 'Brokers of the problems. Empty: all, and problems without a broker.',
      resolve: ({ brokerIds }) => [...brokerIds],
    }),
    changes: t.expose('changes', { description: 'Which changes are sent.', type: NotifiedChanges }),
    minimumSeconds: t.exposeInt('minimumSeconds', {
      description: 'How long a problem lasts before it is sent. A problem that closes earlier is not sent.',
    }),
    digestMinutes: t.exposeInt('digestMinutes', {
      description: 'How long changes are collected for one message. 0: each change is a message of its own.',
    }),
  }),
});

const Webhook = builder.objectRef<WebhookTarget>('NotificationWebhook').implement({
  description: 'The receiver of a webhook. Its URL and its secrets are sealed and never returned.',
  fields: (t) => ({
    origin: t.exposeString('origin', { description: 'Scheme, host and port of the URL.' }),
    isSigned: t.exposeBoolean('isSigned', { description: 'Whether requests are signed by Standard Webhooks.' }),
    headerNames: t.exposeStringList('headerNames', { description: 'Names of further headers of each request.' }),
    credentialNames: t.exposeStringList('credentialNames', {
      description: 'Names of the credentials that the template may use.',
    }),
    template: t.exposeString('template', {
      description: 'Mustache template of the body. Null: the body is the problem.',
      nullable: true,
    }),
    document: t.string({
      description: 'The subscription whose result is the body. Null if there is none.',
      nullable: true,
      resolve: ({ subscription }) => subscription?.document ?? null,
    }),
    variables: t.field({
      description: 'Variables of the subscription. Null if there is none.',
      type: 'JSON',
      nullable: true,
      resolve: ({ subscription }) => subscription?.variables ?? null,
    }),
  }),
});

const Email = builder.objectRef<EmailTarget>('NotificationEmail').implement({
  description: 'The receivers of e-mail.',
  fields: (t) => ({ to: t.exposeStringList('to', { description: 'E-mail addresses.' }) }),
});

const Mqtt = builder.objectRef<MqttTarget>('NotificationTopic').implement({
  description: 'The topic that messages are published to.',
  fields: (t) => ({
    broker: t.field({
      description: 'The broker of the topic. Null if it was deleted.',
      type: Broker,
      nullable: true,
      resolve: ({ brokerId }, _args, { services, viewer }) => viewer && services.brokers.seen(brokerId, viewer),
    }),
    topic: t.exposeString('topic', { description: 'Topic of the messages.' }),
    qos: t.exposeInt('qos', { description: 'Quality of service of the messages.' }),
  }),
});

export const Delivery = builder.prismaObject('NotificationDelivery', {
  description: `A message of a channel. The last ${MAX_ENDED.toLocaleString('en')} ended ones of a channel are stored.`,
  ...belongsToProject(
    ({ channel }: { readonly channel: { readonly projectId: string | null } }) => channel.projectId ?? '',
    'ADMIN',
  ),
  interfaces: [Node],
  select: { id: true, channel: { select: { projectId: true } } },
  fields: (t) => ({
    number: t.exposeInt('number', { description: 'Position in the channel. Messages are sent in this order.' }),
    state: t.expose('state', { description: 'Whether the message has arrived.', type: State }),
    content: t.field({
      description: 'What the message is about: its type, its time, and the problems.',
      type: 'JSON',
      select: { content: true },
      resolve: ({ content }) => JSON.parse(content) as unknown,
    }),
    attempts: t.exposeInt('attempts', { description: 'Attempts since it was created or sent again.' }),
    nextAttemptAt: t.field({
      description: 'When the message is sent next, if those before it have ended. Null if it has ended.',
      type: 'DateTime',
      nullable: true,
      select: { state: true, nextAttemptAt: true },
      resolve: ({ state, nextAttemptAt }) => (state === 'PENDING' ? nextAttemptAt : null),
    }),
    lastAttemptAt: t.expose('lastAttemptAt', {
      description: 'Begin of the last attempt. Null before the first one.',
      type: 'DateTime',
      nullable: true,
    }),
    responseStatus: t.exposeInt('responseStatus', {
      description: 'HTTP status or SMTP reply code of the last attempt. Null if there was no response.',
      nullable: true,
    }),
    response: t.exposeString('response', {
      description: 'The first 1,000 characters of the last response. The receiver chooses them.',
      nullable: true,
    }),
    error: t.exposeString('error', { description: 'Why the last attempt failed. Null if it did not.', nullable: true }),
    createdAt: t.expose('createdAt', { description: 'When the message was created.', type: 'DateTime' }),
    endedAt: t.expose('endedAt', {
      description: 'When the message was delivered or became a dead letter. Null while it waits.',
      type: 'DateTime',
      nullable: true,
    }),
  }),
});

findsNode('notificationDelivery', async (id, { db, services, viewer }) => {
  const row = await db.notificationDelivery.findUnique({
    where: { id },
    include: { channel: { select: { projectId: true } } },
  });
  if (row !== null) await services.notificationChannels.visible(row.channelId, viewer);
  return row;
});

const DELIVERIES: RowList = {
  kind: 'NotificationDelivery',
  key: 'number',
  keyType: 'number',
  direction: 'desc',
  pageSize: SHORT_PAGES,
};

export const NotificationChannel = builder.objectRef<Channel>('NotificationChannel').implement({
  description: 'Where changes of problems are sent. Messages are sent at least once and in order.',
  ...belongsToProject(({ projectId }: Channel) => projectId ?? '', 'ADMIN'),
  interfaces: [Node],
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the channel. It need not be unique.' }),
    kind: t.expose('kind', { description: 'How the channel sends.', type: Kind }),
    isActive: t.exposeBoolean('isActive', {
      description: 'Whether the channel sends. Changes of problems meanwhile are not sent later.',
    }),
    project: t.field({
      description: 'The project of the problems. Null for those of the service itself.',
      type: Project,
      nullable: true,
      resolve: ({ projectId }, _args, { services, viewer }) =>
        projectId === null ? null : services.projects.visible(projectId, viewer),
    }),
    rules: t.expose('rules', { description: 'Which changes are sent, and when.', type: Rules }),
    webhook: t.field({
      description: 'WEBHOOK: the receiver. Null otherwise.',
      type: Webhook,
      nullable: true,
      resolve: ({ target }) => (target.kind === 'WEBHOOK' ? target : null),
    }),
    email: t.field({
      description: 'EMAIL: the receivers. Null otherwise.',
      type: Email,
      nullable: true,
      resolve: ({ target }) => (target.kind === 'EMAIL' ? target : null),
    }),
    mqtt: t.field({
      description: 'MQTT: the topic. Null otherwise.',
      type: Mqtt,
      nullable: true,
      resolve: ({ target }) => (target.kind === 'MQTT' ? target : null),
    }),
    deliveries: t.connection(
      {
        description: 'Messages of the channel, newest first. A page has at most 100 entries. Default: 20.',
        type: Delivery,
        complexity: pageCost,
        args: { state: t.arg({ description: 'Only messages in this state.', type: State }) },
        resolve: ({ id: channelId }, args, context, info) => {
          const where = { channelId, ...(args.state == null ? {} : { state: args.state }) };
          return rowConnection(DELIVERIES, args, context, info, {
            find: ({ where: page, orderBy, take, skip }) =>
              context.db.notificationDelivery.findMany({
                where: { AND: [where, page] },
                orderBy,
                take,
                skip,
                include: { channel: { select: { projectId: true } } },
              }),
            count: () => context.db.notificationDelivery.count({ where }),
          });
        },
      },
      {
        name: 'NotificationDeliveryConnection',
        description: 'A page of messages.',
        fields: (page) => totalCount(page, 'Number of messages in the state.'),
      },
      { name: 'NotificationDeliveryEdge' },
    ),
    createdAt: t.expose('createdAt', { description: 'When the channel was created.', type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { description: 'When the channel last changed.', type: 'DateTime' }),
  }),
});

findsNode('notificationChannel', (id, { services, viewer }) => services.notificationChannels.visible(id, viewer));
