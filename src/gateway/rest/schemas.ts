import type { JsonSchema } from './route.ts';

export const STRING: JsonSchema = { type: 'string' };
export const NULLABLE_STRING: JsonSchema = { type: ['string', 'null'] };
export const BOOLEAN: JsonSchema = { type: 'boolean' };
export const NUMBER: JsonSchema = { type: 'number' };
export const INTEGER: JsonSchema = { type: 'integer' };

/** An object with no other keys. */
export const closed = (
  properties: Readonly<Record<string, JsonSchema>>,
  { required = Object.keys(properties), ...rest }: { readonly required?: readonly string[] } & JsonSchema = {},
): JsonSchema => ({ type: 'object', properties, required, additionalProperties: false, ...rest });

export const PAGE_QUERY: Readonly<Record<string, JsonSchema>> = {
  offset: {
    type: 'integer',
    minimum: 0,
    maximum: 2_147_483_647,
    default: 0,
    description: 'Number of entries to skip at the start.',
  },
  count: {
    type: 'integer',
    minimum: -1,
    maximum: 2_147_483_647,
    default: -1,
    description: 'Maximum number of entries; -1 means all.',
  },
  verbose: { type: 'boolean', default: true, description: 'If false, only names are returned.' },
};

export const FILTER_MODES = {
  CONTAINS: 'contains',
  EQUALS: 'equals',
  STARTS_WITH: 'startsWith',
  ENDS_WITH: 'endsWith',
} as const;

export const FILTER_QUERY: Readonly<Record<string, JsonSchema>> = {
  filterValue: { type: 'string', maxLength: 65_535, description: 'Only entries that match this text.' },
  filterMode: { type: 'string', enum: Object.values(FILTER_MODES), default: FILTER_MODES.CONTAINS },
};

export const CREATED_ID: JsonSchema = closed({ id: STRING }, { title: 'Created' });

export const ERROR: JsonSchema = {
  title: 'Error',
  type: 'object',
  properties: {
    message: { type: 'string', description: 'Description for users. It may change.' },
    code: { type: 'string', description: 'Stable code for programs.' },
    status: { type: 'integer', description: 'The HTTP status.' },
    info: {
      type: 'object',
      description:
        'Further details. For invalid input, `issues` lists `{ path, reason }`: paths are JSON pointers into the body, or names of parameters.',
    },
  },
  required: ['message', 'code', 'status'],
  additionalProperties: false,
};
