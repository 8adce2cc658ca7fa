import type { RequestContext } from '../../../gateway/context.ts';
import { builder, requires } from '../../../gateway/graphql/builder.ts';
import { idPayload, inputArgument, payloadsWith } from '../../../gateway/graphql/payloads.ts';
import { ofProject, viewerCan } from '../../../gateway/graphql/viewer-can.ts';
import { walk } from '../../../gateway/graphql/walk-limit.ts';
import { requireRootAdmin, requireSignedIn, requireWholeProject } from '../../../platform/auth/viewer.ts';
import { TESTS_PER_MINUTE } from '../../../platform/limits/test-limit.ts';
import { ProblemKindType, ProblemSeverityType } from '../../problems/graph/problem-enums.ts';
import { Project } from '../../projects/project-schema.ts';
import type { Channel } from '../channels/channel.ts';
import { MAX_CHANNELS } from '../channels/channel-service.ts';
import type { Outcome } from '../senders/sender.ts';
import { Delivery, NotificationChannel, NotifiedChanges } from './notification-types.ts';

interface OfProject {
  readonly projectId?: string | null | undefined;
  readonly input?: OfProject;
}

/** Requires ADMIN in the project, or a root administrator without one. */
const ofOwner = {
  authScopes: (_parent: unknown, args: OfProject, { viewer, services }: RequestContext) => {
    const { projectId } = args.input ?? args;
    if (projectId == null) requireRootAdmin(viewer);
    else services.projects.visible(projectId, viewer, 'ADMIN');
    requireWholeProject(requireSignedIn(viewer));
    return true;
  },
  ...requires('ADMIN', { elsewhere: 'NOT_ALLOWED' }),
};

interface OfChannel {
  readonly input: { readonly channelId: string };
}

/** Requires ADMIN in the project of the channel, or a root administrator. */
const onChannel = {
  authScopes: async (_parent: unknown, { input }: OfChannel, { viewer, services }: RequestContext) => {
    await services.notificationChannels.visible(input.channelId, viewer);
    return true;
  },
  ...requires('ADMIN', { elsewhere: 'NOT_ALLOWED' }),
};

const OWNER = 'The project of the problems. Null: problems of the service itself, for root administrators.';

const SECRET = { extensions: { secret: true } } as const;

const NamedValueInput = builder.inputType('NotificationHeaderInput', {
  description: 'A header, or a credential.',
  fields: (t) => ({
    name: t.string({ description: 'Name of the value.', required: true }),
    value: t.string({ description: 'The value, which is sealed and never returned.', required: true, ...SECRET }),
  }),
});

const WebhookInput = builder.inputType('NotificationWebhookInput', {
  description: 'A receiver of webhooks. All values are sealed, except the template.',
  fields: (t) => ({
    url: t.string({
      description: 'An http or https URL. Its host must be allowed (BROKER_ALLOWED_HOSTS). Redirects are not followed.',
      required: true,
      ...SECRET,
    }),
    secret: t.string({
      description:
        'Signs requests by Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. Several, separated by spaces, sign each request. Default: no signature.',
    }),
    headers: t.field({ description: 'Further headers, at most 20.', type: [NamedValueInput] }),
    credentials: t.field({
      description: 'Values that the template writes as `{{credentials.<name>}}`, at most 20.',
      type: [NamedValueInput],
    }),
    template: t.string({
      description:
        'Mustache template that makes the JSON of the body, with values such as `{{problem.title}}`; see docs/notifications.md. Default: the problem.',
    }),
    document: t.string({
      description:
        'A subscription of `problems`, or of `serviceProblems` without a project. Its result for the change is the body, with the rights of a viewer of the project. Not with `template`.',
    }),
    variables: t.field({ description: 'Variables of the document, an object.', type: 'JSON' }),
  }),
});

const EmailInput = builder.inputType('NotificationEmailInput', {
  description: 'Receivers of e-mail. Requires SMTP_URL.',
  fields: (t) => ({ to: t.stringList({ description: '1 to 20 e-mail addresses.', required: true }) }),
});

const MqttInput = builder.inputType('NotificationTopicInput', {
  description: 'A topic that messages are published to with the connection of this service.',
  fields: (t) => ({
    brokerId: t.id({ description: 'A broker of the project of the channel.', required: true }),
    topic: t.string({ description: 'Topic of the messages, without wildcards.', required: true }),
    qos: t.int({ description: 'Quality of service, 0 to 2. Default: 1.' }),
  }),
});

const TargetInput = builder.inputType('NotificationTargetInput', {
  description: 'Where a channel sends. Exactly one field is required.',
  isOneOf: true,
  fields: (t) => ({
    webhook: t.field({ description: 'A receiver of HTTP requests.', type: WebhookInput }),
    email: t.field({ description: 'Receivers of messages by SMTP.', type: EmailInput }),
    mqtt: t.field({ description: 'A topic of a broker of the project.', type: MqttInput }),
  }),
});

const RulesInput = builder.inputType('NotificationRulesInput', {
  description: 'Which changes of problems are sent, and when. Absent fields do not change.',
  fields: (t) => ({
    kinds: t.field({ description: 'Kinds of problems. Default: all.', type: [ProblemKindType] }),
    severities: t.field({ description: 'Severities of problems. Default: all.', type: [ProblemSeverityType] }),
    brokerIds: t.idList({ description: 'At most 100 brokers of the problems. Default: all problems.' }),
    changes: t.field({ description: 'Which changes are sent. Default: BOTH.', type: NotifiedChanges }),
    minimumSeconds: t.int({
      description: 'How long a problem lasts before it is sent, at most 86,400. Default: 0.',
    }),
    digestMinutes: t.int({
      description: 'How long changes are collected for one message, at most 1,440. Default: 0, no digest.',
    }),
  }),
});

const NAME = 'Name of the channel: 1 to 200 characters. It need not be unique.';

const CreateInput = builder.inputType('CreateNotificationChannelInput', {
  description: 'A new channel.',
  fields: (t) => ({
    projectId: t.id({ description: OWNER }),
    name: t.string({ description: NAME, required: true }),
    isActive: t.boolean({ description: 'Whether the channel sends. Default: true.' }),
    rules: t.field({ description: 'Default: all changes of all problems, immediately.', type: RulesInput }),
    target: t.field({ description: 'Where the channel sends.', type: TargetInput, required: true }),
  }),
});

const channelId = { description: 'Id of the channel.', required: true } as const;

const UpdateInput = builder.inputType('UpdateNotificationChannelInput', {
  description: 'Changes of a channel. Absent fields do not change.',
  fields: (t) => ({
    channelId: t.id(channelId),
    name: t.string({ description: NAME }),
    isActive: t.boolean({ description: 'Whether the channel sends.' }),
    rules: t.field({ description: 'Changes of the rules.', type: RulesInput }),
    target: t.field({ description: 'Replaces the whole target, with its secrets.', type: TargetInput }),
  }),
});

const DeleteInput = builder.inputType('DeleteNotificationChannelInput', {
  description: 'The channel to delete.',
  fields: (t) => ({ channelId: t.id(channelId) }),
});

const TestInput = builder.inputType('TestNotificationChannelInput', {
  description: 'The channel to test.',
  fields: (t) => ({ channelId: t.id(channelId) }),
});

const ResendInput = builder.inputType('ResendNotificationDeliveryInput', {
  description: 'The message to send again.',
  fields: (t) => ({
    channelId: t.id(channelId),
    deliveryId: t.id({ description: 'Id of a message that has ended.', required: true }),
  }),
});

const channelPayload = payloadsWith<{ readonly notificationChannel: Channel }>({
  description: 'Result of a change of a notification channel.',
  fields: (t) => ({
    notificationChannel: t.expose('notificationChannel', {
      description: 'The channel after the change.',
      type: NotificationChannel,
    }),
  }),
});

const DeletePayload = idPayload(
  'deleteNotificationChannel',
  'deletedChannelId',
  'Result of deleting a notification channel.',
  'Id of the deleted channel.',
);

const TestPayload = builder
  .objectRef<Outcome & { readonly notificationChannel: Channel }>('TestNotificationChannelPayload')
  .implement({
    description: 'Result of a test.',
    fields: (t) => ({
      notificationChannel: t.expose('notificationChannel', {
        description: 'The tested channel.',
        type: NotificationChannel,
      }),
      isDelivered: t.exposeBoolean('isDelivered', { description: 'Whether the receiver has accepted the message.' }),
      responseStatus: t.exposeInt('status', {
        description: 'HTTP status or SMTP reply code. Null if there was no response.',
        nullable: true,
      }),
      response: t.exposeString('response', {
        description: 'The first 1,000 characters of the response. The receiver chooses them.',
        nullable: true,
      }),
      error: t.exposeString('error', { description: 'Why the test failed. Null if it did not.', nullable: true }),
    }),
  });

const ResendPayload = builder
  .objectRef<{ readonly delivery: typeof Delivery.$inferType }>('ResendNotificationDeliveryPayload')
  .implement({
    description: 'Result of sending a message again.',
    fields: (t) => ({
      delivery: t.expose('delivery', { description: 'The message, which waits again.', type: Delivery }),
    }),
  });

const writerOf = ({ viewer, db, services }: RequestContext) => ({
  isRootAdmin: requireSignedIn(viewer).isRootAdmin,
  graph: { db, services },
});

builder.mutationFields((t) => ({
  createNotificationChannel: t.field({
    description: 'Creates a channel that sends changes of problems from now on.',
    type: channelPayload('createNotificationChannel'),
    ...ofOwner,
    args: inputArgument(CreateInput, 'The new channel.'),
    resolve: async (_root, { input: { projectId, ...channel } }, context) => ({
      notificationChannel: await context.services.notificationChannels.create(
        projectId ?? null,
        channel,
        writerOf(context),
      ),
    }),
  }),
  updateNotificationChannel: t.field({
    description: 'Changes a channel. Messages that wait are sent to the new target.',
    type: channelPayload('updateNotificationChannel'),
    ...onChannel,
    args: inputArgument(UpdateInput, 'The channel and the changes.'),
    resolve: async (_root, { input: { channelId: id, ...change } }, context) => {
      const { notificationChannels } = context.services;
      const channel = await notificationChannels.visible(id, context.viewer);
      return { notificationChannel: await notificationChannels.update(channel, change, writerOf(context)) };
    },
  }),
  deleteNotificationChannel: t.field({
    description: 'Deletes a channel and its messages, also those that wait.',
    type: DeletePayload,
    ...onChannel,
    args: inputArgument(DeleteInput, 'The channel to delete.'),
    resolve: async (_root, { input }, { services, viewer }) => {
      await services.notificationChannels.remove(await services.notificationChannels.visible(input.channelId, viewer));
      return { deletedChannelId: input.channelId };
    },
  }),
  testNotificationChannel: t.field({
    description: `Sends a test message immediately, also if the channel is not active. It is not stored. A caller may test ${TESTS_PER_MINUTE} times a minute.`,
    type: TestPayload,
    ...onChannel,
    args: inputArgument(TestInput, 'The channel to test.'),
    resolve: async (_root, { input }, context) => {
      const { notificationChannels, notificationDeliveries } = context.services;
      const notificationChannel = await notificationChannels.visible(input.channelId, context.viewer);
      const { id } = requireSignedIn(context.viewer);
      return { ...(await notificationDeliveries.test(notificationChannel, context, id)), notificationChannel };
    },
  }),
  resendNotificationDelivery: t.field({
    description: 'Sends a message again, before those with greater numbers. IN_USE if it has not ended.',
    type: ResendPayload,
    ...onChannel,
    args: inputArgument(ResendInput, 'The message to send again.'),
    resolve: async (_root, { input }, { services, viewer }) => {
      const channel = await services.notificationChannels.visible(input.channelId, viewer);
      const { projectId } = channel;
      const row = await services.notificationDeliveries.resend(channel, input.deliveryId);
      return { delivery: { ...row, channel: { projectId } } };
    },
  }),
}));

builder.queryField('notificationChannels', (t) =>
  t.field({
    description: `The notification channels of a project, at most ${MAX_CHANNELS}, in the order of creation.`,
    type: [NotificationChannel],
    ...ofOwner,
    args: { projectId: t.arg.id({ description: OWNER }) },
    resolve: async (_root, { projectId }, context) => [
      ...walk(context, await context.services.notificationChannels.ofProject(projectId ?? null)),
    ],
  }),
);

builder.prismaObjectFields(Project, (t) => ({
  viewerCanManageNotifications: t.boolean(
    viewerCan('Mutation.createNotificationChannel', 'manage notification channels', ofProject),
  ),
}));
