import type { RequestContext } from '../../../gateway/context.ts';
import { builder, requires } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { selects } from '../../../gateway/graphql/document.ts';
import { pageCost, SEARCH_COST } from '../../../gateway/graphql/page-cost.ts';
import { timeField } from '../../../gateway/graphql/time-field.ts';
import { belongsToBroker } from '../../../gateway/graphql/type-scopes.ts';
import { mayQueryBroker, mayReturnText, walk } from '../../../gateway/graphql/walk-limit.ts';
import { payloadText } from '../../../platform/text/payload-text.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { Completeness } from '../retained/retained-readings.ts';
import { MAX_FIRST, MAX_PREVIEW_BYTES, type RetainedMessage, type RetainedView } from '../retained/retained-service.ts';

const RetainedCompleteness = describedEnum<Completeness>(
  'RetainedCompleteness',
  'Whether a reading found all retained messages that match.',
  {
    COMPLETE: 'All messages that the account of this service may read.',
    LIMITED: 'The reading ended at 1,000,000 messages, 512 MiB or 30 seconds. Use a narrower filter.',
    UNPROVEN:
      'Repeated readings differ: the broker drops messages for this service, because the network is slow, or messages change. Use a narrower filter.',
  },
);

const UNREAD = 'Null if the message could not be read again: it was deleted, or the broker allows only the filter.';
const FOR_PAYLOADS = `Also null if the project stores no payloads of topic trees. ${UNREAD}`;

/** `null` if there is no payload that the caller may read. */
function previewOf({ broker, message }: RetainedView, context: RequestContext): RetainedMessage | null {
  if (message === null) return null;
  if (!context.services.topics.mayReadPayloads({ broker, nodeId: null }, context.viewer)) return null;
  return mayReturnText(context, message.payload.length) ? message : null;
}

const RetainedMessageType = builder.objectRef<RetainedView>('RetainedMessage').implement({
  ...belongsToBroker(({ broker }: RetainedView) => broker, 'EDITOR'),
  description: 'A retained message of a broker.',
  fields: (t) => ({
    topic: t.exposeString('topic', { description: 'The topic of the message.' }),
    payload: t.string({
      description: `The first \`maxPayloadBytes\` bytes as text, without a truncated last character. Null if the payload is not UTF-8. ${FOR_PAYLOADS}`,
      nullable: true,
      resolve: (view, _args, context) => {
        const preview = previewOf(view, context);
        return preview && payloadText(preview.payload, preview.payload.length < preview.payloadBytes);
      },
    }),
    payloadBase64: t.string({
      description: `The first \`maxPayloadBytes\` bytes. ${FOR_PAYLOADS}`,
      nullable: true,
      resolve: (view, _args, context) => previewOf(view, context)?.payload.toString('base64') ?? null,
    }),
    isPayloadTruncated: t.boolean({
      description: `Whether the payload is longer than \`maxPayloadBytes\`. ${UNREAD}`,
      nullable: true,
      resolve: ({ message }) => message && message.payload.length < message.payloadBytes,
    }),
    payloadBytes: t.int({
      description: `Size of the whole payload in bytes. ${UNREAD}`,
      nullable: true,
      resolve: ({ message }) => message?.payloadBytes ?? null,
    }),
    qos: t.int({
      description: `QoS with which the message was published. ${UNREAD}`,
      nullable: true,
      resolve: ({ message }) => message?.qos ?? null,
    }),
    contentType: t.string({
      description: `Content type of the payload (MQTT 5). Null if the message has none. ${UNREAD}`,
      nullable: true,
      resolve: ({ message }) => message?.contentType ?? null,
    }),
    expiresAt: timeField(
      t,
      `Time when the broker deletes the message (MQTT 5). Null if it does not expire. ${UNREAD}`,
      ({ message }) => message?.expiresAt ?? null,
    ),
  }),
});

const MESSAGE_FIELDS = [
  ...(['payload', 'payloadBase64', 'isPayloadTruncated', 'payloadBytes'] as const),
  ...(['qos', 'contentType', 'expiresAt'] as const),
];

builder.interfaceFields(Broker, (t) => ({
  retainedMessages: t.connection(
    {
      description: `The retained messages, as far as the broker allows the account of this service to read them, in the order of their topics. Each page reads all that match \`filter\` from the broker; 50 by default, at most ${MAX_FIRST} per page. MQTT has no time of a retained message. Messages above 16 MiB are not listed. Requires the EDITOR role.`,
      type: RetainedMessageType,
      nullable: true,
      ...requires('EDITOR', { elsewhere: 'NOT_FOUND' }),
      authScopes: ({ id }) => ({ editorOf: id }),
      complexity: (args) => ({ ...pageCost(args), field: SEARCH_COST }),
      args: {
        filter: t.arg.string({
          description: 'MQTT topic filter. `#`: all that do not begin with `$`. Not `$share/…` or `$CONTROL/…`.',
          defaultValue: '#',
        }),
        search: t.arg.string({ description: 'Only topics that contain this text. Upper and lower case are equal.' }),
        maxPayloadBytes: t.arg.int({
          description: `Maximum number of bytes of each payload, 0 to ${MAX_PREVIEW_BYTES}. At most 4 MiB in total.`,
          defaultValue: 1_024,
        }),
      },
      resolve: async (broker, args, context, info) => {
        if (!(await mayQueryBroker(context, false))) return null;
        const { filter, maxPayloadBytes } = args;
        const input = { ...args, filter: filter ?? '#', maxPayloadBytes: maxPayloadBytes ?? 1_024 };
        const page = await context.services.retained.page(broker, input, selects(info, ...MESSAGE_FIELDS));
        return { ...page, edges: walk(context, page.edges) };
      },
    },
    {
      name: 'RetainedMessageConnection',
      description: 'Retained messages of a broker.',
      fields: (connection) => ({
        totalCount: connection.exposeInt('totalCount', {
          description: 'Number of retained messages on all pages, as far as they were read: see `completeness`.',
        }),
        completeness: connection.expose('completeness', {
          description: 'Whether all retained messages that match were read.',
          type: RetainedCompleteness,
        }),
      }),
    },
    { name: 'RetainedMessageEdge', description: 'A retained message and its cursor.' },
  ),
}));
