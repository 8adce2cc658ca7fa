import type { JsonSchema } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed, INTEGER, PAGE_QUERY, STRING } from '../../gateway/rest/schemas.ts';

const MAX_TEXT = 65_535;
const MAX_INTEGER = 2_147_483_647;

const NAME: JsonSchema = { type: 'string', minLength: 1, maxLength: MAX_TEXT };
const TEXT: JsonSchema = { type: ['string', 'null'], maxLength: MAX_TEXT, description: 'Empty or null: none.' };
const QUERY: JsonSchema = {
  type: 'object',
  description: '`select` and `where`; empty: all messages pass as they are.',
};
const TARGET_QOS: JsonSchema = {
  type: 'integer',
  enum: [-1, 0, 1, 2],
  description: 'QoS of what is published; -1 is that of the message that came in.',
};
const TTL: JsonSchema = {
  type: 'integer',
  minimum: 0,
  maximum: MAX_INTEGER,
  description:
    'Seconds for which stored messages are kept at least, and at most twice that; 0: until they are cleared.',
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
    targettopic: { type: 'string', description: 'Left out: nothing is published.' },
    textname: STRING,
    textdescription: STRING,
    targetqos: INTEGER,
    ttl: INTEGER,
    active: BOOLEAN,
    process: BOOLEAN,
    persist: BOOLEAN,
    replaying: { type: 'boolean', description: 'A replay runs.' },
    query: QUERY,
  },
  {
    required: ['streamname', 'sourcetopic', 'targetqos', 'ttl', 'active', 'process', 'persist', 'replaying', 'query'],
    title: 'Stream',
  },
);

/** A list of streams, or of names with `verbose=false`. */
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

const DETAILS: Readonly<Record<string, JsonSchema>> = {
  targetqos: TARGET_QOS,
  ttl: TTL,
  key: TEXT,
  query: QUERY,
  textname: TEXT,
  textdescription: TEXT,
  active: { type: 'boolean', description: 'False: the stream does nothing.' },
  process: { type: 'boolean', description: 'False: messages pass as they are, whatever the query.' },
  persist: { type: 'boolean', description: 'Store what leaves the query, to be replayed.' },
};

export const NEW_STREAM: JsonSchema = closed(
  {
    streamname: NAME,
    sourceTopic: { ...NAME, description: 'Topic filter of the messages that come in.' },
    targetTopic: { ...TEXT, description: 'Where results are published. Empty or null: nowhere.' },
    ...DETAILS,
    sourcetopic: other(NAME, 'sourceTopic'),
    targettopic: other(TEXT, 'targetTopic'),
  },
  {
    required: ['streamname'],
    if: { required: ['sourcetopic'] },
    else: { required: ['sourceTopic'] },
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
    sourcetopic: { ...NAME, description: 'Topic filter of the messages that come in.' },
    targettopic: { ...TEXT, description: 'Where results are published. Empty or null: nowhere.' },
    ...DETAILS,
    replace: { type: 'boolean', description: 'Taken for the sake of older callers; changes nothing.' },
    sourceTopic: other(NAME, 'sourcetopic'),
    targetTopic: other(TEXT, 'targettopic'),
  },
  {
    required: ['streamname'],
    title: 'StreamChange',
    description: 'What is not given stays as it is.',
    examples: [{ streamname: 'fast', persist: true, ttl: 3_600 }],
  },
);

const BOUND = 'epoch seconds, epoch milliseconds or ISO 8601, as text or number; without offset UTC. Empty: unbounded.';

export const STREAM_REPLAY: JsonSchema = closed(
  {
    streamname: NAME,
    replayTopic: { ...NAME, description: 'Where the stored messages are published.' },
    gte: { type: ['string', 'number', 'null'], description: `Only messages of this moment or later: ${BOUND}` },
    lte: { type: ['string', 'number', 'null'], description: `Only messages of this moment or earlier: ${BOUND}` },
    reverse: { type: 'boolean', default: false, description: 'The newest first.' },
    limit: {
      type: 'integer',
      minimum: -1,
      maximum: MAX_INTEGER,
      default: -1,
      description: 'So many messages at most; -1: all.',
    },
    speed: {
      type: ['number', 'string'],
      exclusiveMinimum: 0,
      pattern: '^(original|fastest)$',
      default: 'original',
      description: '2.5 is that many times as fast as the messages came; `original` is 1, `fastest` without pauses.',
    },
    replaytopic: other(NAME, 'replayTopic'),
  },
  {
    required: ['streamname'],
    if: { required: ['replaytopic'] },
    else: { required: ['replayTopic'] },
    title: 'StreamReplay',
    examples: [{ streamname: 'fast', replayTopic: 'replay/fast', gte: '2026-01-31T12:00:00Z', speed: 10 }],
  },
);
