import type { Route, RouteInput } from '../../gateway/rest/route.ts';
import { invalid } from '../../platform/errors.ts';
import { capitalized } from '../../platform/text/capitalized.ts';
import { NEW_STREAM, STREAM_CHANGE, STREAM_REPLAY, STREAMNAME_QUERY, STREAMS, STREAMS_QUERY } from './stream-bodies.ts';
import { momentOf } from './time-bound.ts';

const LIST = `query ($projectId: ID!, $brokerId: ID!, $first: Int, $after: String, $offset: Int) {
  project(id: $projectId) {
    broker(id: $brokerId) {
      streams(first: $first, after: $after, offset: $offset) {
        totalCount
        nodes {
          streamname: name
          sourcetopic: sourceTopic
          targettopic: targetTopic
          textname: textName
          textdescription: textDescription
          targetqos: targetQos
          ttl
          active: isActive
          process
          persist
          replaying: isReplaying
          query
        }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}`;

const mutation = (field: string, type = `${capitalized(field)}Input`) =>
  `mutation ($input: ${type}!) { ${field}(input: $input) { broker { id } } }`;

/** Returns the value of a key with two spellings. Errors: INVALID if both are given with different values. */
function either(body: RouteInput['body'], key: string): unknown {
  const other = key.toLowerCase();
  const [first, second] = [body[key], body[other]];
  if (first !== undefined && second !== undefined && first !== second) {
    throw invalid([{ path: `/${other}`, reason: `must be the same as "${key}"` }]);
  }
  return first ?? second;
}

const streamOf = ({ params, body }: RouteInput) => ({
  input: {
    ...params,
    name: body.streamname,
    sourceTopic: either(body, 'sourceTopic'),
    targetTopic: either(body, 'targetTopic'),
    targetQos: body.targetqos,
    ttl: body.ttl,
    isActive: body.active,
    process: body.process,
    persist: body.persist,
    key: body.key,
    query: body.query,
    textName: body.textname,
    textDescription: body.textdescription,
  },
});

const named = ({ params, query }: RouteInput) => ({ input: { ...params, name: query.streamname } });

const replayOf = ({ params, body }: RouteInput) => {
  const { streamname, gte, lte, reverse, limit, speed } = body;
  return {
    input: {
      ...params,
      name: streamname,
      topic: either(body, 'replayTopic'),
      from: momentOf(gte, 'gte'),
      to: momentOf(lte, 'lte'),
      limit: limit === -1 ? undefined : limit,
      reverse,
      fastest: speed === 'fastest',
      speed: typeof speed === 'number' ? speed : undefined,
    },
  };
};

const wantsAll = ({ query }: RouteInput) => query.count === undefined || query.count === -1;

const PAGE = 1_000;

const STREAMS_PATH = '/api/projects/{projectId}/brokers/{brokerId}/streams';
const READ_ERRORS = [401, 403, 404, 405, 500, 503] as const;
const ERRORS = [400, ...READ_ERRORS] as const;
const DOCUMENTED = { section: '4.5', tag: 'Streams' } as const;
/** Field names in issues that differ between the graph and this interface. */
const NAMES = { name: 'streamname', isActive: 'active', topic: 'replayTopic', from: 'gte', to: 'lte' } as const;
const DONE = { status: 204, errors: ERRORS, inputNames: NAMES } as const;
const LIMITED = '405 NOT_SUPPORTED_BY_BROKER if streams cannot run for the broker; the message states a solution.';

export const streamRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: STREAMS_PATH,
    ...DOCUMENTED,
    operationId: 'listStreams',
    summary: 'List the streams of a broker',
    keywords: 'pipelines processing transformations',
    description: LIMITED,
    query: STREAMS_QUERY,
    operation: LIST,
    variables: (input) => ({
      ...input.params,
      first: wantsAll(input) ? PAGE : input.query.count,
      offset: input.query.offset,
    }),
    pick: 'project.broker.streams.nodes',
    total: 'project.broker.streams.totalCount',
    omitNull: ['*'],
    nameKey: 'streamname',
    stream: { when: wantsAll, pageInfo: 'project.broker.streams.pageInfo', pageSize: PAGE },
    response: STREAMS,
    errors: READ_ERRORS,
    revisions: { query: { offset: { since: '3.3' }, count: { since: '3.3' }, verbose: { since: '3.3' } } },
  },
  {
    method: 'POST',
    path: STREAMS_PATH,
    ...DOCUMENTED,
    operationId: 'createStream',
    summary: 'Create a stream',
    keywords: 'add pipeline processing transformation',
    description: `Refused if the stream would receive its own output, directly or through other streams. ${LIMITED}`,
    body: NEW_STREAM,
    operation: mutation('createStream'),
    variables: streamOf,
    ...DONE,
  },
  {
    method: 'PUT',
    path: STREAMS_PATH,
    ...DOCUMENTED,
    operationId: 'updateStream',
    summary: 'Change a stream',
    keywords: 'edit start stop activate pipeline',
    body: STREAM_CHANGE,
    operation: mutation('updateStream'),
    variables: streamOf,
    ...DONE,
  },
  {
    method: 'DELETE',
    path: STREAMS_PATH,
    ...DOCUMENTED,
    operationId: 'deleteStream',
    summary: 'Delete a stream',
    keywords: 'remove pipeline',
    description: 'With its stored messages.',
    query: STREAMNAME_QUERY,
    operation: mutation('deleteStream', 'StreamInput'),
    variables: named,
    ...DONE,
  },
  {
    method: 'DELETE',
    path: `${STREAMS_PATH}/messages`,
    ...DOCUMENTED,
    operationId: 'clearStreamMessages',
    summary: 'Delete the messages of a stream',
    keywords: 'clear purge empty',
    query: STREAMNAME_QUERY,
    operation: mutation('clearStreamMessages'),
    variables: named,
    ...DONE,
  },
  {
    method: 'PUT',
    path: `${STREAMS_PATH}/replay`,
    ...DOCUMENTED,
    operationId: 'replayStream',
    summary: 'Replay a stream',
    keywords: 'playback resend history',
    description: 'Responds when the replay has started. 400 IN_USE if another replay of the stream runs.',
    body: STREAM_REPLAY,
    operation: mutation('replayStream'),
    variables: replayOf,
    ...DONE,
  },
];
