import { graphql, type ResultOf, type VariablesOf } from '../graph/graphql.ts';

const CHANNEL = graphql(`fragment ShownChannel on NotificationChannel @_unmask {
  id
  name
  kind
  isActive
  rules { kinds severities brokerIds changes minimumSeconds digestMinutes }
  webhook { origin isSigned headerNames credentialNames template document variables }
  email { to }
  mqtt { topic qos broker { id name } }
}`);
const DELIVERY = graphql(`fragment ShownDelivery on NotificationDelivery @_unmask {
  id
  number
  state
  content
  createdAt
  attempts
  lastAttemptAt
  nextAttemptAt
  responseStatus
  response
  error
}`);

export const CHANNELS = graphql(
  `query NotificationChannels($projectId: ID) {
  notificationChannels(projectId: $projectId) { ...ShownChannel deliveries(first: 1) { nodes { ...ShownDelivery } } }
}`,
  [CHANNEL, DELIVERY],
);
export const DELIVERIES = graphql(
  `query NotificationDeliveries(
  $id: ID!
  $state: NotificationDeliveryState
  $first: Int
  $after: String
  $last: Int
  $before: String
) {
  node(id: $id) {
    ... on NotificationChannel {
      deliveries(state: $state, first: $first, after: $after, last: $last, before: $before) {
        totalCount
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
        nodes { ...ShownDelivery }
      }
    }
  }
}`,
  [DELIVERY],
);

export type Channel = ResultOf<typeof CHANNEL>;
export type ListedChannel = ResultOf<typeof CHANNELS>['notificationChannels'][number];
export type Delivery = ResultOf<typeof DELIVERY>;

export const CREATE = graphql(`mutation CreateNotificationChannel($input: CreateNotificationChannelInput!) {
  createNotificationChannel(input: $input) { notificationChannel { id } }
}`);
export const UPDATE = graphql(`mutation UpdateNotificationChannel($input: UpdateNotificationChannelInput!) {
  updateNotificationChannel(input: $input) { notificationChannel { id } }
}`);
export const DELETE = graphql(`mutation DeleteNotificationChannel($input: DeleteNotificationChannelInput!) {
  deleteNotificationChannel(input: $input) { deletedChannelId }
}`);
export const TEST = graphql(`mutation TestNotificationChannel($input: TestNotificationChannelInput!) {
  testNotificationChannel(input: $input) { isDelivered responseStatus response error }
}`);
export const RESEND = graphql(`mutation ResendNotificationDelivery($input: ResendNotificationDeliveryInput!) {
  resendNotificationDelivery(input: $input) { delivery { id } }
}`);

type CreateInput = VariablesOf<typeof CREATE>['input'];
export type Target = CreateInput['target'];
export type Rules = NonNullable<CreateInput['rules']>;
