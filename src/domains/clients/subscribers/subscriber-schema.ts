import { builder } from '../../../gateway/graphql/builder.ts';
import { SUBSCRIBER_SEARCH_COST } from '../../../gateway/graphql/page-cost.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { MAX_SUBSCRIBERS, type Subscriber } from '../../../protocol/apis/clients/subscriber-list.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { SubscribersView } from '../client-service.ts';

const DEFAULT_COUNT = 50;

const TopicSubscriber = builder.objectRef<Subscriber & { readonly isGateway: boolean }>('TopicSubscriber').implement({
  description: 'A client and one of its subscriptions that matches a topic.',
  fields: (t) => ({
    clientId: t.exposeString('clientid', { description: 'The MQTT client id.' }),
    nodeId: t.exposeInt('node', {
      description: 'The node of the client, in a cluster whose nodes have clients of their own.',
      nullable: true,
    }),
    filter: t.exposeString('filter', {
      description: 'The topic filter; of a shared subscription with `$share/` and its name.',
    }),
    qos: t.exposeInt('qos', { description: 'The granted QoS: 0, 1 or 2.' }),
    isConnected: t.exposeBoolean('connected', {
      description: 'false: a persistent session that is offline. The broker queues messages of QoS 1 and 2 for it.',
    }),
    isGateway: t.exposeBoolean('isGateway', {
      description: 'Whether the client is a connection of this service itself.',
    }),
  }),
});

const TopicSubscribers = builder.objectRef<SubscribersView>('TopicSubscribers').implement({
  ...withBroker,
  description: 'The subscriptions that match a topic at the time of the request.',
  fields: (t) => ({
    nodes: t.field({
      description: 'The first subscriptions in the order of client id, node and filter.',
      type: [TopicSubscriber],
      complexity: { field: 1, multiplier: 1 },
      resolve: ({ subscribers, isOwn }) =>
        subscribers.map((subscriber) => ({ ...subscriber, isGateway: isOwn(subscriber.clientid) })),
    }),
    totalCount: t.expose('totalCount', {
      type: 'SafeInt',
      description: 'Number of all subscriptions that match. A client may have several.',
    }),
    isComplete: t.exposeBoolean('complete', {
      description: 'false if the source may not know all subscriptions, or a node of the cluster did not respond.',
    }),
  }),
});

builder.interfaceField(Broker, 'topicSubscribers', (t) =>
  t.field({
    type: TopicSubscribers,
    nullable: true,
    description:
      'The clients that receive messages of a topic: all subscriptions that match it. Access control may still refuse a message. Errors: NOT_SUPPORTED_BY_BROKER if the broker neither reports subscriptions nor logs them.',
    complexity: ({ first }) => ({ field: SUBSCRIBER_SEARCH_COST, multiplier: first ?? DEFAULT_COUNT }),
    args: {
      topic: t.arg.string({ description: 'The topic, without wildcards.', required: true }),
      first: t.arg.int({
        description: `Maximum number of subscriptions in \`nodes\`: 1 to ${MAX_SUBSCRIBERS}.`,
        defaultValue: DEFAULT_COUNT,
      }),
    },
    resolve: (broker, { topic, first }, { services }) =>
      services.clients.subscribers(broker, topic, first ?? DEFAULT_COUNT),
  }),
);
