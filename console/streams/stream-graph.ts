import { graphql, type ResultOf, type VariablesOf } from '../graph/graphql.ts';

export const RIGHTS = graphql(`query StreamRights($id: ID!) {
  broker(id: $id) { viewerCanCreateStreams viewerCanReadMessages streams(first: 0) { problem } }
}`);

export const STREAMS = graphql(`subscription Streams($brokerId: ID!, $after: SafeInt) {
  streams(brokerId: $brokerId, after: $after) {
    kind
    sequence
    partsLeft
    isConnected
    removed
    streams {
      name
      textName
      textDescription
      isActive
      persist
      process
      problem
      query
      sourceTopic
      state
      targetQos
      targetTopic
      ttl
      isReplaying
      messageCount
      storage { messages bytes oldest newest problem }
      counters {
        since
        received
        published
        stored
        filtered
        failed
        notStored
        replayed
        lastError { at reason }
        lastFiltered { at reason }
      }
      viewerCanUpdate
      viewerCanDelete
    }
  }
}`);

export const CREATE = graphql(`mutation CreateStream($input: CreateStreamInput!) {
  createStream(input: $input) { stream { id } }
}`);
export const UPDATE = graphql(`mutation UpdateStream($input: UpdateStreamInput!) {
  updateStream(input: $input) { stream { id } }
}`);
export const DELETE = graphql(`mutation DeleteStream($input: StreamInput!) {
  deleteStream(input: $input) { broker { id } }
}`);
export const CLEAR = graphql(`mutation ClearStreamMessages($input: ClearStreamMessagesInput!) {
  clearStreamMessages(input: $input) { stream { id } }
}`);
export const ENABLE = graphql(`mutation EnableStream($input: StreamInput!) {
  enableStream(input: $input) { stream { id } }
}`);
export const DISABLE = graphql(`mutation DisableStream($input: StreamInput!) {
  disableStream(input: $input) { stream { id } }
}`);
export const REPLAY = graphql(`mutation ReplayStream($input: ReplayStreamInput!) {
  replayStream(input: $input) { stream { id } }
}`);
export const STOP_REPLAY = graphql(`mutation StopStreamReplay($input: StreamInput!) {
  stopStreamReplay(input: $input) { stream { id } }
}`);

export const REPLAYED = graphql(`subscription StreamReplay($brokerId: ID!, $streamName: String!, $after: SafeInt) {
  streamReplay(brokerId: $brokerId, streamName: $streamName, after: $after) {
    kind
    sequence
    isReplaying
    replay { state published total topic position startedAt endedAt problem }
  }
}`);

export const PREVIEW = graphql(`query PreviewStream($query: JSON!, $samples: [JSON!]!, $topic: String) {
  previewStream(query: $query, samples: $samples, topic: $topic) { results { outcome payload reason } }
}`);

export type StreamsEvent = ResultOf<typeof STREAMS>['streams'];
export type Stream = StreamsEvent['streams'][number];
export type ReplayEvent = ResultOf<typeof REPLAYED>['streamReplay'];
export type PreviewResult = ResultOf<typeof PREVIEW>['previewStream']['results'][number];
export type CreateInput = VariablesOf<typeof CREATE>['input'];
