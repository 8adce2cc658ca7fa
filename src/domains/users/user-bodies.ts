import type { JsonSchema } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed, INTEGER, NUMBER, STRING } from '../../gateway/rest/schemas.ts';
import { DEFAULT_PAGE } from '../../platform/paging.ts';

export const SSO_TYPES = { LDAP: 'ldap', SSO: 'sso' } as const;
export const USER_SORT_FIELDS = { CREATED_AT: 'created_at', NAME: 'name', EMAIL: 'email' } as const;
export const SORT_ORDERS = { ASC: 'asc', DESC: 'desc' } as const;

const MAX_PAGE_SIZE = 1_000;

const PAGE: Readonly<Record<string, JsonSchema>> = {
  page: {
    type: 'integer',
    minimum: 0,
    // Multiplied by MAX_PAGE_SIZE this still fits into an Int of GraphQL.
    maximum: 2_000_000,
    default: 0,
    description: 'Page number. The first page is 0.',
  },
  pageSize: {
    type: 'integer',
    minimum: 1,
    maximum: MAX_PAGE_SIZE,
    default: DEFAULT_PAGE,
    description: 'Maximum number of users of a page.',
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
      description: 'Sort field.',
    },
    sortOrder: { type: 'string', enum: Object.values(SORT_ORDERS), default: SORT_ORDERS.ASC },
  },
};

export const ADMIN_QUERY: JsonSchema = {
  type: 'object',
  properties: { email: { type: 'string', minLength: 1, maxLength: 254, description: 'E-mail address of the user.' } },
  required: ['email'],
};

export const REMOVAL_QUERY: JsonSchema = {
  type: 'object',
  properties: {
    handOverTo: {
      type: 'string',
      minLength: 1,
      maxLength: 256,
      description: 'Id of the user who becomes the owner of the projects and organizations.',
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
        isRemovable: { ...BOOLEAN, description: 'False for the last root administrator who can sign in.' },
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
    trial_flow: { ...BOOLEAN, description: 'Always false.' },
    project_count: { ...NUMBER, description: 'Number of projects that the user owns.' },
    broker_count: { ...NUMBER, description: 'Number of brokers in these projects.' },
    monthly_revenue: { ...NUMBER, description: 'Always 0.' },
    yearly_revenue: { ...NUMBER, description: 'Always 0.' },
    total_revenue: { ...NUMBER, description: 'Always 0.' },
    onboarding: { ...NUMBER, description: 'Always 0.' },
    bookings: { description: 'Always null.' },
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
    firstname: {
      type: 'string',
      description: 'First name. Default of the name: the part of the address before the `@`.',
    },
    lastname: STRING,
    email: { type: 'string', description: 'E-mail address and log-in name. It must be unique.' },
    password: {
      type: 'string',
      minLength: 8,
      description: 'Without a password the user cannot sign in locally. Not stored if `ssoType` is set.',
    },
    verified: { ...BOOLEAN, description: 'Whether the e-mail address is verified. Default: false.' },
    ssoType: {
      type: 'string',
      enum: Object.values(SSO_TYPES),
      description: 'External provider at which the user signs in.',
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
