import {
  MAX_FILTERS,
  MAX_PAYLOAD_LIMIT,
  MAX_TOPIC_LIMIT,
  MAX_TTL_SECONDS,
} from '../../../data-plane/topic-tree/model/topic-settings.ts';
import { builder, onBroker, writesOnBroker } from '../../../gateway/graphql/builder.ts';
import { inputArgument, payloadsWith } from '../../../gateway/graphql/payloads.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { ofBroker, viewerCan } from '../../../gateway/graphql/viewer-can.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import { Broker } from '../../brokers/broker-schema.ts';

const BROKER = 'The broker to change.';
const PROJECT = 'If given, the broker must be in this project.';
const NODE = 'A node of a cluster whose nodes have their own topics. Default: all nodes.';
const LIMIT = `0 to ${MAX_TOPIC_LIMIT}.`;
const FILTERS = `The whole list of MQTT topic filters, at most ${MAX_FILTERS}.`;

const SetTopicTtlInput = builder.inputType('SetTopicTtlInput', {
  description: 'The TTL of topics.',
  fields: (t) => ({
    brokerId: t.id({ description: BROKER, required: true }),
    projectId: t.id({ description: PROJECT }),
    nodeId: t.int({ description: NODE }),
    ttl: t.int({
      description: `Number of seconds that a topic stays listed after its last use, 1 to ${MAX_TTL_SECONDS}.`,
      required: true,
    }),
  }),
});

const UpdateTopicTreeInput = builder.inputType('UpdateTopicTreeInput', {
  description: 'Settings of the recording of topics.',
  fields: (t) => ({
    brokerId: t.id({ description: BROKER, required: true }),
    projectId: t.id({ description: PROJECT }),
    nodeId: t.int({ description: NODE }),
    filters: t.stringList({
      description: `Only topics that match one of these are recorded. Empty: all topics that do not begin with \`$\`. ${FILTERS}`,
    }),
    excludedFilters: t.stringList({ description: `Topics that match one of these are not recorded. ${FILTERS}` }),
    publishLimit: t.int({ description: `Maximum number of listed topics of messages, ${LIMIT}` }),
    subscribeLimit: t.int({ description: `Maximum number of listed topics of subscriptions, ${LIMIT}` }),
    payloadLimit: t.int({
      description: `Number of bytes that are stored of each topic’s last payload, 0 to ${MAX_PAYLOAD_LIMIT}. 0: none.`,
    }),
    isAlwaysOn: t.boolean({ description: 'Whether topics are recorded even while no client requests them.' }),
  }),
});

const topicTreePayload = payloadsWith<{ readonly broker: BrokerRecord }>({
  ...withBroker,
  description: 'The broker with the changed settings.',
  fields: (t) => ({
    broker: t.expose('broker', { description: 'The changed broker.', type: Broker }),
  }),
});

builder.mutationFields((t) => ({
  setTopicTtl: t.field({
    description:
      'Changes how long topics stay listed after their last use. Also applies to topics that are already listed.',
    type: topicTreePayload('setTopicTtl'),
    ...writesOnBroker,
    args: inputArgument(SetTopicTtlInput, 'The broker and the TTL.'),
    resolve: async (_root, { input: { brokerId, nodeId, ttl } }, { services, viewer }) => {
      const broker = services.brokers.visible(brokerId, viewer);
      await services.topics.update(broker, nodeId ?? null, { ttlSeconds: ttl });
      return { broker };
    },
  }),
  updateTopicTree: t.field({
    description: 'Changes all given settings of the recording, or none. Missing settings stay unchanged.',
    type: topicTreePayload('updateTopicTree'),
    ...onBroker('EDITOR'),
    args: inputArgument(UpdateTopicTreeInput, 'The broker and its settings.'),
    resolve: async (_root, { input }, { services, viewer }) => {
      const { brokerId, projectId: _projectId, nodeId, ...changes } = input;
      const broker = services.brokers.visible(brokerId, viewer, 'EDITOR');
      await services.topics.update(broker, nodeId ?? null, changes);
      return { broker };
    },
  }),
}));

builder.interfaceFields(Broker, (t) => ({
  viewerCanUpdateTopicTree: t.boolean(
    viewerCan('Mutation.updateTopicTree', 'change the settings of the topic tree', ofBroker),
  ),
}));
