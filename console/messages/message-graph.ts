import { graphql, type ResultOf } from '../graph/graphql.ts';

export const RIGHTS = graphql(`query MessageRights($id: ID!) {
  broker(id: $id) { viewerCanReadMessages viewerCanPublishMessages }
}`);

export const MESSAGES = graphql(`subscription Messages(
  $brokerId: ID!, $filter: String!, $maxRate: Int, $maxPayloadBytes: Int, $after: SafeInt
) {
  messages(
    brokerId: $brokerId, filter: $filter, maxRate: $maxRate, maxPayloadBytes: $maxPayloadBytes, after: $after
  ) {
    kind
    sequence
    isConnected
    leftOut
    missed
    messages { topic payload payloadBase64 payloadBytes isTruncated qos retain receivedAt }
  }
}`);

export const PUBLISH = graphql(`mutation PublishMessage($input: PublishMessageInput!) {
  publishMessage(input: $input) { topic payloadBytes outcome reasonCode protocolVersion remarks }
}`);

export type MessagesEvent = ResultOf<typeof MESSAGES>['messages'];
export type Message = MessagesEvent['messages'][number];
export type Published = ResultOf<typeof PUBLISH>['publishMessage'];

/** Bytes of each payload that the console reads. */
export const PAYLOAD_BYTES = 8_192;
