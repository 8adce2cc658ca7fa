import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { inputArgument } from '../../../gateway/graphql/payloads.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { ofBroker, viewerCan } from '../../../gateway/graphql/viewer-can.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { MAX_USER_PROPERTIES } from '../publishing/publish-input.ts';
import type { PUBLISH_OUTCOMES, PublishReport } from '../publishing/publish-service.ts';

const PublishOutcome = describedEnum<(typeof PUBLISH_OUTCOMES)[number]>(
  'PublishOutcome',
  'What is known about a published message.',
  {
    ACKNOWLEDGED:
      'The broker acknowledged the message. Brokers with MQTT 3.1.1 also acknowledge messages that they drop.',
    NO_MATCHING_SUBSCRIBERS:
      'The broker acknowledged the message, and has no subscription that matches the topic (MQTT 5, reason code 16). Not all brokers report this.',
    SENT: 'The message was sent with QoS 0, which brokers do not acknowledge.',
    NOT_PUBLISHED: 'A dry run: nothing was sent.',
  },
);

const MessagePayloadInput = builder.inputType('MessagePayloadInput', {
  description: 'The payload of a message. Exactly one field is required.',
  isOneOf: true,
  fields: (t) => ({
    text: t.string({
      description: 'Text, sent as UTF-8. An empty text with `retain` deletes the retained message.',
      extensions: { content: 'utf8' },
    }),
    json: t.field({
      description:
        'A JSON value, sent as compact JSON text. Numbers are sent as they are written in the request, for example `21.20`. Keys that are whole numbers, such as `"1"`, are sent before the other keys of their object, and only the last one of equal keys is sent. Use `text` to send the text unchanged.',
      type: 'JSON',
      extensions: { content: 'json' },
    }),
    base64: t.string({ description: 'Bytes as base64 with padding.', extensions: { content: 'base64' } }),
  }),
});

const UserPropertyInput = builder.inputType('UserPropertyInput', {
  description: 'A user property of a message (MQTT 5).',
  fields: (t) => ({
    name: t.string({ description: 'Name. Names may repeat.', required: true }),
    value: t.string({
      description: 'Value of the property, recorded in the audit by its size only.',
      required: true,
      extensions: { content: 'utf8' },
    }),
  }),
});

const MessagePropertiesInput = builder.inputType('MessagePropertiesInput', {
  description: 'Properties of a message. They require a broker with MQTT 5.',
  fields: (t) => ({
    contentType: t.string({ description: 'Content type of the payload, for example `application/json`.' }),
    responseTopic: t.string({ description: 'Topic for a response. A topic name without wildcards.' }),
    correlationDataBase64: t.string({
      description: 'Correlation data of a request as base64, at most 65,535 bytes.',
      extensions: { content: 'base64' },
    }),
    messageExpirySeconds: t.field({
      type: 'SafeInt',
      description:
        'Number of seconds after which the broker deletes the message, at most 4,294,967,295. Default: it does not expire.',
    }),
    isPayloadUtf8: t.boolean({
      description: 'Whether the payload is declared as UTF-8 text (payload format indicator). Default: not declared.',
    }),
    userProperties: t.field({
      description: `User properties in order, at most ${MAX_USER_PROPERTIES}.`,
      type: [UserPropertyInput],
    }),
  }),
});

const PublishMessageInput = builder.inputType('PublishMessageInput', {
  description: 'The message to publish, and its broker.',
  fields: (t) => ({
    brokerId: t.id({ description: 'A broker in a project where the caller has EDITOR.', required: true }),
    projectId: t.id({ description: 'If set, the broker must be in this project.' }),
    topic: t.string({
      description: 'Topic name without wildcards. Topics that begin with `$` are refused: they belong to the broker.',
      required: true,
    }),
    payload: t.field({
      description: 'Content of the message: text, JSON or bytes.',
      type: MessagePayloadInput,
      required: true,
    }),
    qos: t.int({
      description: '0, 1 or 2. Default: 1, because brokers do not acknowledge messages of QoS 0.',
      defaultValue: 1,
    }),
    retain: t.boolean({
      description: 'Whether the broker stores the message for future subscribers, in place of the previous one.',
      defaultValue: false,
    }),
    properties: t.field({ description: 'Properties of MQTT 5.', type: MessagePropertiesInput }),
    dryRun: t.boolean({
      description:
        'Publish nothing, and check the message, the connection and, as far as dynamic security reports it, the permission.',
      defaultValue: false,
    }),
  }),
});

const PublishMessagePayload = builder.objectRef<PublishReport>('PublishMessagePayload').implement({
  ...withBroker,
  description: 'What the broker reported about the message.',
  fields: (t) => ({
    broker: t.expose('broker', { description: 'The broker that got the message.', type: Broker }),
    topic: t.exposeString('topic', { description: 'The topic of the message.' }),
    payloadBytes: t.exposeInt('payloadBytes', { description: 'Size of the payload in bytes.' }),
    outcome: t.expose('outcome', { description: 'What is known about the message.', type: PublishOutcome }),
    reasonCode: t.exposeInt('reasonCode', {
      description: 'Reason code of PUBACK or PUBREC. Null for QoS 0, for a dry run, and with MQTT 3.1.1.',
      nullable: true,
    }),
    protocolVersion: t.string({
      description: 'MQTT version of the connection: `5` or `3.1.1`.',
      resolve: ({ protocolVersion }) => (protocolVersion === 5 ? '5' : '3.1.1'),
    }),
    remarks: t.stringList({
      description:
        'What the broker does not report, and, where it reports no refusal or in a dry run, why dynamic security does not allow the message.',
      resolve: ({ remarks }) => [...remarks],
    }),
  }),
});

builder.mutationField('publishMessage', (t) =>
  t.field({
    description:
      'Publishes a message with the account of this service. NOT_ALLOWED names the rule of the broker that decided.',
    type: PublishMessagePayload,
    ...onBroker('EDITOR'),
    args: inputArgument(PublishMessageInput, 'The message.'),
    resolve: (_root, { input }, { services, viewer }) =>
      services.publishing.publish(services.brokers.visible(input.brokerId, viewer, 'EDITOR'), input),
  }),
);

builder.interfaceField(Broker, 'viewerCanPublishMessages', (t) =>
  t.boolean(viewerCan('Mutation.publishMessage', 'publish messages', ofBroker)),
);
