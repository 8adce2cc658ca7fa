import type { GraphQLResolveInfo } from 'graphql';
import type { TopicKind } from '../../../data-plane/topic-tree/model/topic-recorder.ts';
import type { RequestContext } from '../../../gateway/context.ts';
import { builder } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { selects } from '../../../gateway/graphql/document.ts';
import { findsNamedNode, Node } from '../../../gateway/graphql/node.ts';
import { knownTimeField } from '../../../gateway/graphql/time-field.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { mayReturnText } from '../../../gateway/graphql/walk-limit.ts';
import { namedNodeId } from '../../../gateway/named-node-id.ts';
import { payloadText } from '../../../platform/text/payload-text.ts';
import type { TopicView } from '../topic-view.ts';

export const TopicKindType = describedEnum<TopicKind>('TopicKind', 'What a topic was used for.', {
  PUBLISHED: 'Topics of messages.',
  SUBSCRIBED: 'Topic filters of subscriptions.',
});

export const kindArgument = {
  type: TopicKindType,
  defaultValue: 'PUBLISHED',
  description: 'The kind of topics.',
} as const;

const PAYLOAD_FIELDS = ['payload', 'payloadBase64', 'payloadBytes', 'isPayloadTruncated'] as const;

export const selectsPayloads = (info: GraphQLResolveInfo): boolean => selects(info, ...PAYLOAD_FIELDS);

interface Preview {
  readonly bytes: Buffer;
  readonly length: number;
}

/** Returns `null` if there is no payload that the caller may read. */
function previewOf(topic: TopicView, context: RequestContext): Preview | null {
  const { payload } = topic;
  if (payload === null || !context.services.topics.mayReadPayloads(topic, context.viewer)) return null;
  if (!mayReturnText(context, payload.data.length)) return null;
  return { bytes: Buffer.from(payload.data, 'base64'), length: payload.bytes };
}

const FOR_EDITORS =
  'Null if the caller is not an EDITOR of the project, the project stores no payloads, or none is stored of this topic.';

/** The global id of a topic. The `broker` of a topic in the tree of a node is that of the node. */
export const topicNodeId = ({ broker, kind, topic }: Pick<TopicView, 'broker' | 'kind' | 'topic'>): string =>
  namedNodeId({ kind: 'topic', brokerId: broker.id, name: `${kind}/${topic}` });

export const Topic = builder.objectRef<TopicView>('Topic').implement({
  ...withBroker,
  description: 'A topic that was used within the TTL.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: 'Depends on the broker that records the topic, the kind and the topic only.',
      resolve: (topic, _args, context) => (mayReturnText(context, topic.topic.length) ? topicNodeId(topic) : ''),
    }),
    topic: t.string({
      description: 'The whole topic or topic filter.',
      resolve: ({ topic }, _args, context) => (mayReturnText(context, topic.length) ? topic : ''),
    }),
    messages: t.expose('messages', {
      type: 'SafeInt',
      description: 'Number of messages since the topic was listed. SUBSCRIBED: number of subscriptions to it.',
    }),
    firstSeen: knownTimeField(t, 'Time since which the topic is listed.', ({ firstSeen }) => firstSeen),
    lastSeen: knownTimeField(t, 'Time of the last use.', ({ lastSeen }) => lastSeen),
    qos: t.exposeInt('qos', {
      description:
        'QoS of the last message as it was recorded, or of the last subscription. The gateway receives all messages with QoS 0.',
    }),
    retain: t.exposeBoolean('retain', {
      description: 'Whether the last message was a retained message, as far as the broker reports it.',
    }),
    nodeIds: t.intList({
      description: 'In a cluster whose nodes have their own topics: the nodes that list the topic. Otherwise empty.',
      resolve: ({ nodes, nodeId }) => [...(nodes ?? (nodeId === null ? [] : [nodeId]))],
    }),
    payload: t.string({
      description: `The beginning of the last payload as text, up to the last whole character. Also null if the payload is not UTF-8. ${FOR_EDITORS}`,
      nullable: true,
      resolve: (topic, _args, context) => {
        const preview = previewOf(topic, context);
        return preview && payloadText(preview.bytes, preview.bytes.length < preview.length);
      },
    }),
    payloadBase64: t.string({
      description: `The unchanged beginning of the last payload. ${FOR_EDITORS}`,
      nullable: true,
      resolve: (topic, _args, context) => previewOf(topic, context)?.bytes.toString('base64') ?? null,
    }),
    payloadBytes: t.int({
      description: `Size of the whole payload. ${FOR_EDITORS}`,
      nullable: true,
      resolve: (topic, _args, context) => previewOf(topic, context)?.length ?? null,
    }),
    isPayloadTruncated: t.boolean({
      description: `Whether the payload is longer than its stored part. ${FOR_EDITORS}`,
      nullable: true,
      resolve: (topic, _args, context) => {
        const preview = previewOf(topic, context);
        return preview && preview.bytes.length < preview.length;
      },
    }),
  }),
});

findsNamedNode('topic', (broker, name, { services: { topics } }) => {
  const [, kind, topic = ''] = /^(PUBLISHED|SUBSCRIBED)\/(.+)$/s.exec(name) ?? [];
  const ref = topics.refOf(broker, null);
  return kind === undefined || ref === null ? null : topics.find(ref, kind as TopicKind, topic);
});
