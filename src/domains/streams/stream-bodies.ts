import type { JsonSchema } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed, INTEGER, PAGE_QUERY, STRING } from '../../gateway/rest/schemas.ts';

const MAX_TEXT = 65_535;
const MAX_INTEGER = 2_147_483_647;

const NAME: JsonSchema = { type: 'string', minLength: 1, maxLength: MAX_TEXT };
const TEXT: JsonSchema = { type: ['string', 'null'], maxLength: MAX_TEXT, description: 'Empty or null for none.' };
const QUERY: JsonSchema = {
  type: 'object',
  description: '`select` and `where`. With an empty object all messages pass unchanged.',
};
const TARGET_QOS: JsonSchema = {
  type: 'integer',
  enum: [-1, 0, 1, 2],
  description: 'QoS of published messages. -1: the QoS of the received message.',
};
const TTL: JsonSchema = {
  type: 'integer',
  minimum: 0,
  maximum: MAX_INTEGER,
  description:
    'Minimum retention of stored messages in seconds; the maximum is twice that. 0: messages are stored until they are cleared.',
};

export const STREAMS_QUERY: JsonSchema = { type: 'object', properties: PAGE_QUERY };
export const STREAMNAME_QUERY: JsonSchema = {
  type: 'object',
  properties: { streamname: NAME },
  required: ['streamname'],
};

const STREAM: JsonSchema = closed(
  {
    streamname: STRING,
    sourcetopic: STRING,
    targettopic: { type: 'string', description: 'Absent if nothing is published.' },
    textname: STRING,
    textdescription: STRING,
    targetqos: INTEGER,
    ttl: INTEGER,
    active: BOOLEAN,
    process: BOOLEAN,
    persist: BOOLEAN,
    replaying: { type: 'boolean', description: 'Whether a replay runs.' },
    query: QUERY,
  },
  {
    required: ['streamname', 'sourcetopic', 'targetqos', 'ttl', 'active', 'process', 'persist', 'replaying', 'query'],
    title: 'Stream',
  },
);

export const STREAMS: JsonSchema = {
  oneOf: [
    { type: 'array', items: STREAM },
    { type: 'array', items: STRING, minItems: 1 },
  ],
};

const other = (schema: JsonSchema, spelling: string): JsonSchema => ({
  ...schema,
  description: `Another spelling of \`${spelling}\`.`,
});

/** Requires one of two spellings. Errors name the first. */
const oneSpelling = (name: string, other: string): JsonSchema => ({
  if: having(other),
  else: having(name),
});

const having = (name: string): JsonSchema => ({
  properties: { [name]: true },
  required: [name],
  additionalProperties: true,
});

const DETAILS: Readonly<Record<string, JsonSchema>> = {
  targetqos: TARGET_QOS,
  ttl: TTL,
  key: TEXT,
  query: QUERY,
  textname: TEXT,
  textdescription: TEXT,
  active: { type: 'boolean', description: 'Whether the stream runs.' },
  process: { type: 'boolean', description: 'Whether the query is applied. If not, messages pass unchanged.' },
  persist: { type: 'boolean', description: 'Whether results are stored for replays.' },
};

export const NEW_STREAM: JsonSchema = closed(
  {
    streamname: NAME,
    sourceTopic: { ...NAME, description: 'Topic filter of the received messages.' },
    targetTopic: { ...TEXT, description: 'Topic on which results are published. Empty or null for none.' },
    ...DETAILS,
    sourcetopic: other(NAME, 'sourceTopic'),
    targettopic: other(TEXT, 'targetTopic'),
  },
  {
    required: ['streamname'],
    ...oneSpelling('sourceTopic', 'sourcetopic'),
    title: 'NewStream',
    examples: [
      {
        streamname: 'fast',
        sourceTopic: 'plant/line1',
        targetTopic: 'plant/line1/fast',
        query: {
          select: [{ source: '[speed]', target: '[speed]' }],
          where: [{ operator: '>', left: '[speed]', right: 10 }],
        },
      },
    ],
  },
);

export const STREAM_CHANGE: JsonSchema = closed(
  {
    streamname: NAME,
    sourcetopic: { ...NAME, description: 'Topic filter of the received messages.' },
    targettopic: { ...TEXT, description: 'Topic on which results are published. Empty or null for none.' },
    ...DETAILS,
    replace: { type: 'boolean', description: 'Accepted for older callers. Has no effect.' },
    sourceTopic: other(NAME, 'sourcetopic'),
    targetTopic: other(TEXT, 'targettopic'),
  },
  {
    required: ['streamname'],
    title: 'StreamChange',
    description: 'Absent fields are unchanged.',
    examples: [{ streamname: 'fast', persist: true, ttl: 3_600 }],
  },
);

const BOUND = 'epoch seconds, epoch milliseconds or ISO 8601. UTC without an offset. Empty for no bound.';

export const STREAM_REPLAY: JsonSchema = closed(
  {
    streamname: NAME,
    replayTopic: { ...NAME, description: 'Topic on which the stored messages are published.' },
    gte: { type: 'string', description: `Only messages stored at this time or later: ${BOUND}` },
    lte: { type: 'string', description: `Only messages stored at this time or earlier: ${BOUND}` },
    reverse: { type: 'boolean', default: false, description: 'Whether the newest message is published first.' },
    limit: {
      type: 'integer',
      minimum: -1,
      maximum: MAX_INTEGER,
      default: -1,
      description: 'Maximum number of messages. -1: all.',
    },
    speed: {
      type: ['number', 'string'],
      exclusiveMinimum: 0,
      pattern: '^(original|fastest)$',
      default: 'original',
      description:
        'Factor of the original speed: 2.5 is 2.5 times as fast. `original` is 1, `fastest` is without pauses.',
    },
    replaytopic: other(NAME, 'replayTopic'),
  },
  {
    required: ['streamname'],
    ...oneSpelling('replayTopic', 'replaytopic'),
    title: 'StreamReplay',
    examples: [{ streamname: 'fast', replayTopic: 'replay/fast', gte: '2026-01-31T12:00:00Z', speed: 10 }],
  },
);
