import { GraphQLError, Kind, type ValueNode, valueFromASTUntyped } from 'graphql';
import { epochOfIso, isDateTime } from '../../platform/date-times.ts';
import { jsonNumber } from '../../platform/text/exact-number.ts';
import { isDeeper } from '../../platform/text/json-depth.ts';
import { builder } from './builder.ts';

const WITH_OFFSET = /T.*(Z|[+-]\d{2}:\d{2})$/;

builder.scalarType('DateTime', {
  specifiedByURL: 'https://scalars.graphql.org/andimarek/date-time',
  description: 'A date and time, ISO 8601 in UTC with milliseconds, for example "2026-01-31T12:00:00.000Z".',
  // Cached records contain the text: to format it for each response costs more than all other fields.
  serialize: (value) => (typeof value === 'string' ? value : value.toISOString()),
  parseValue: (value) => {
    const epochMs = typeof value === 'string' && WITH_OFFSET.test(value) ? epochOfIso(value) : Number.NaN;
    if (Number.isNaN(epochMs)) throw new GraphQLError('DateTime must be an ISO 8601 date and time');
    if (!isDateTime(epochMs)) throw new GraphQLError('DateTime must be in the years 1 to 9999');
    return new Date(epochMs);
  },
});

/** As for REST bodies. Deeper values would exhaust the stack of functions that visit or write them. */
const MAX_DEPTH = 100;

builder.scalarType('JSON', {
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
  description:
    'Any JSON value. Clients whose JSON parser rounds long numbers, such as `JSON.parse`, need the field with the text, if there is one.',
  serialize: (value) => value,
  parseValue: checkedJson,
  parseLiteral: (node, variables) => checkedJson(literalJson(node, variables)),
});

function checkedJson(value: unknown): unknown {
  if (isDeeper(value, MAX_DEPTH)) throw new GraphQLError(`JSON must not be nested deeper than ${MAX_DEPTH} levels`);
  return value;
}

/** Numbers of literals keep their digits, as those of variables do: see ExactNumber. */
function literalJson(node: ValueNode, variables: Variables): unknown {
  switch (node.kind) {
    case Kind.INT:
    case Kind.FLOAT:
      return jsonNumber(node.value);
    case Kind.LIST:
      return node.values.map((item) => literalJson(item, variables));
    case Kind.OBJECT:
      return Object.fromEntries(node.fields.map(({ name, value }) => [name.value, literalJson(value, variables)]));
    default:
      return valueFromASTUntyped(node, variables);
  }
}

type Variables = Parameters<typeof valueFromASTUntyped>[1];

const LIMIT = Number.MAX_SAFE_INTEGER;

function safeInteger(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new GraphQLError(`SafeInt must be an integer from -${LIMIT} to ${LIMIT}`);
}

builder.scalarType('SafeInt', {
  specifiedByURL: 'https://tc39.es/ecma262/#sec-number.issafeinteger',
  description:
    'An integer from -(2^53 - 1) to 2^53 - 1, as a JSON number: counts, sizes and sequence numbers, which may exceed the range of `Int`.',
  serialize: safeInteger,
  parseValue: safeInteger,
});
