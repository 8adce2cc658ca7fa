import { builder, onBroker, writesOnBroker } from '../../../gateway/graphql/builder.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { MAX_FILTERS, MAX_PAYLOAD_LIMIT, MAX_TOPIC_LIMIT, MAX_TTL_SECONDS } from '../model/topic-settings.ts';

const BROKER = 'The broker that it is about.';
const PROJECT = 'When given, the broker must be in this project.';
const NODE = 'A node of a cluster whose nodes have topics of their own; left out: all its nodes.';
const LIMIT = `0 to ${MAX_TOPIC_LIMIT}.`;
const FILTERS = `MQTT topic filters, at most ${MAX_FILTERS}; all of them.`;

const SetTopicTtlInput = builder.inputType('SetTopicTtlInput', {
  description: 'How long topics stay listed.',
  fields: (t) => ({
    brokerId: t.id({ description: BROKER, required: true }),
    projectId: t.id({ description: PROJECT }),
    nodeId: t.int({ description: NODE }),
    ttl: t.int({ description: `Seconds after its last use, 1 to ${MAX_TTL_SECONDS}.`, required: true }),
  }),
});

const UpdateTopicTreeInput = builder.inputType('UpdateTopicTreeInput', {
  description: 'How topics are to be recorded.',
  fields: (t) => ({
    brokerId: t.id({ description: BROKER, required: true }),
    projectId: t.id({ description: PROJECT }),
    nodeId: t.int({ description: NODE }),
    filters: t.stringList({
      description: `Only topics that match one are recorded; none: all that do not begin with \`$\`. ${FILTERS}`,
    }),
    excludedFilters: t.stringList({ description: `Of those, topics that match one are left out. ${FILTERS}` }),
    publishLimit: t.int({ description: `Topics of messages that are listed at most, ${LIMIT}` }),
    subscribeLimit: t.int({ description: `Topics of subscriptions that are listed at most, ${LIMIT}` }),
    payloadLimit: t.int({
      description: `Bytes that are kept of each topic’s last payload, 0 to ${MAX_PAYLOAD_LIMIT}; 0: none.`,
    }),
    isAlwaysOn: t.boolean({ description: 'Record also while nobody asks.' }),
  }),
});

const TopicTreePayload = builder.objectRef<{ readonly broker: BrokerRecord }>('TopicTreePayload').implement({
  description: 'The broker whose topics are recorded in another way now.',
  fields: (t) => ({
    broker: t.field({ description: 'The one that it is about.', type: Broker, resolve: ({ broker }) => broker }),
  }),
});

builder.mutationFields((t) => ({
  setTopicTtl: t.field({
    description: 'Changes how long topics stay listed after their last use; counts for those that are listed, too.',
    type: TopicTreePayload,
    ...writesOnBroker,
    args: { input: t.arg({ description: 'Which broker, and how long.', type: SetTopicTtlInput, required: true }) },
    resolve: async (_root, { input: { brokerId, nodeId, ttl } }, { services, viewer }) => {
      const broker = services.brokers.visible(brokerId, viewer);
      await services.topics.update(broker, nodeId ?? null, { ttlSeconds: ttl });
      return { broker };
    },
  }),
  updateTopicTree: t.field({
    description: 'Changes how topics are recorded, all at once. Only what is given changes.',
    type: TopicTreePayload,
    ...onBroker('EDITOR'),
    args: { input: t.arg({ description: 'Which broker, and how.', type: UpdateTopicTreeInput, required: true }) },
    resolve: async (_root, { input }, { services, viewer }) => {
      const { brokerId, projectId: _projectId, nodeId, ...changes } = input;
      const broker = services.brokers.visible(brokerId, viewer, 'EDITOR');
      await services.topics.update(broker, nodeId ?? null, changes);
      return { broker };
    },
  }),
}));
