import { DEFAULT_PAGE } from '../../gateway/paging.ts';
import type { JsonSchema } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed, INTEGER, NUMBER, STRING } from '../../gateway/rest/schemas.ts';

/** Documented spellings of the graph's enums. */
export const SSO_TYPES = { LDAP: 'ldap', SSO: 'sso' } as const;
export const USER_SORT_FIELDS = { CREATED_AT: 'created_at', NAME: 'name', EMAIL: 'email' } as const;
export const SORT_ORDERS = { ASC: 'asc', DESC: 'desc' } as const;

const MAX_PAGE_SIZE = 1_000;

const PAGE: Readonly<Record<string, JsonSchema>> = {
  page: {
    type: 'integer',
    minimum: 0,
    // Times the largest page this is still an Int of the graph.
    maximum: 2_000_000,
    default: 0,
    description: '0 is the first one.',
  },
  pageSize: {
    type: 'integer',
    minimum: 1,
    maximum: MAX_PAGE_SIZE,
    default: DEFAULT_PAGE,
    description: 'People on a page.',
  },
};

export const ADMINS_QUERY: JsonSchema = { type: 'object', properties: PAGE };

export const USERS_QUERY: JsonSchema = {
  type: 'object',
  properties: {
    ...PAGE,
    sortField: {
      type: 'string',
      enum: Object.values(USER_SORT_FIELDS),
      default: USER_SORT_FIELDS.CREATED_AT,
      description: 'What the people are sorted by.',
    },
    sortOrder: { type: 'string', enum: Object.values(SORT_ORDERS), default: SORT_ORDERS.ASC },
  },
};

export const ADMIN_QUERY: JsonSchema = {
  type: 'object',
  properties: { email: { type: 'string', minLength: 1, maxLength: 254, description: 'Of the user.' } },
  required: ['email'],
};

export const REMOVAL_QUERY: JsonSchema = {
  type: 'object',
  properties: {
    handOverTo: {
      type: 'string',
      minLength: 1,
      maxLength: 256,
      description: 'Id of the user who becomes the owner of what this one owns.',
    },
  },
};

export const ADMINS: JsonSchema = closed(
  {
    total: INTEGER,
    roots: {
      type: 'array',
      items: closed({
        id: STRING,
        name: STRING,
        email: STRING,
        isRemovable: { ...BOOLEAN, description: 'False for the last one who can sign in.' },
      }),
    },
  },
  { title: 'RootAdministrators' },
);

export const USER: JsonSchema = closed(
  {
    id: STRING,
    name: STRING,
    email: STRING,
    created_at: { ...STRING, description: 'ISO 8601.' },
    trial_flow: { ...BOOLEAN, description: 'False: nothing is sold here.' },
    project_count: { ...NUMBER, description: 'Projects that belong to the user.' },
    broker_count: { ...NUMBER, description: 'Brokers in these.' },
    monthly_revenue: { ...NUMBER, description: '0: nothing is sold here.' },
    yearly_revenue: { ...NUMBER, description: '0: nothing is sold here.' },
    total_revenue: { ...NUMBER, description: '0: nothing is sold here.' },
    onboarding: { ...NUMBER, description: '0: nothing is sold here.' },
    bookings: { description: 'Null: there is nothing to book.' },
  },
  { title: 'User' },
);

export const USERS: JsonSchema = closed(
  {
    total: INTEGER,
    page: INTEGER,
    pageSize: INTEGER,
    sortField: { type: 'string', enum: Object.values(USER_SORT_FIELDS) },
    sortOrder: { type: 'string', enum: Object.values(SORT_ORDERS) },
    data: { type: 'array', items: USER },
  },
  { title: 'Users' },
);

export const NEW_USER: JsonSchema = closed(
  {
    firstname: { type: 'string', description: 'With `lastname` the name; without both, what the address begins with.' },
    lastname: STRING,
    email: { type: 'string', description: 'The log-in name; no other user may have it.' },
    password: {
      type: 'string',
      minLength: 8,
      description: 'Without it the user cannot sign in here until it is set. With `ssoType` it is not kept.',
    },
    verified: { ...BOOLEAN, description: 'Somebody has made sure that the address is the user’s. Default: false.' },
    ssoType: {
      type: 'string',
      enum: Object.values(SSO_TYPES),
      description: 'Where the user signs in instead of here.',
    },
  },
  {
    required: ['email'],
    title: 'NewUser',
    examples: [
      { firstname: 'Ada', lastname: 'Lovelace', email: 'ada@example.com', password: 'a long secret', verified: true },
    ],
  },
);
