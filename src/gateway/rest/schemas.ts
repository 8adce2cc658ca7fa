import type { JsonSchema } from './route.ts';

/** Small words that the schemas of bodies are made of. */
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

/** The query parameters of a list that a caller takes in pages. */
export const PAGE_QUERY: Readonly<Record<string, JsonSchema>> = {
  offset: {
    type: 'integer',
    minimum: 0,
    maximum: 2_147_483_647,
    default: 0,
    description: 'Entries left out at the start.',
  },
  count: {
    type: 'integer',
    minimum: -1,
    maximum: 2_147_483_647,
    default: -1,
    description: 'Entries wanted at most; -1 means all.',
  },
  verbose: { type: 'boolean', default: true, description: 'False: names only.' },
};

/** How a list is filtered by text. */
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

/** Answer of an operation that creates something. */
export const CREATED_ID: JsonSchema = closed({ id: STRING }, { title: 'Created' });

/** Body of every error answer. */
export const ERROR: JsonSchema = {
  title: 'Error',
  type: 'object',
  properties: {
    message: { type: 'string', description: 'For people.' },
    code: { type: 'string', description: 'For programs.' },
    status: { type: 'integer', description: 'The HTTP status.' },
    info: {
      type: 'object',
      description:
        'What else is known; `issues` lists `{ path, reason }` for input that is refused: JSON pointers into the body, names of parameters.',
    },
  },
  required: ['message', 'code', 'status'],
  additionalProperties: false,
};
