import type { JsonSchema } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed, NUMBER, STRING } from '../../gateway/rest/schemas.ts';
import { PROJECT_ROLES_SPELLED } from '../projects/project-bodies.ts';
import { DEFAULT_OVERLAP_SECONDS, MAX_OVERLAP_SECONDS } from './token-input.ts';

export const TOKEN_TYPES = { RESTRICTED: 'restricted', UNRESTRICTED: 'unrestricted' } as const;

const FIELDS: Readonly<Record<string, JsonSchema>> = {
  id: STRING,
  project_id: STRING,
  role_id: { type: 'string', enum: [...Object.values(PROJECT_ROLES_SPELLED), 'root'] },
  issuer: { ...STRING, description: 'E-mail address of the user who created the token.' },
  name: STRING,
  hash: { ...STRING, description: 'SHA-256 of the token, hexadecimal.' },
  issue_date: { ...NUMBER, description: 'Epoch milliseconds, like the other dates.' },
  valid_date: { type: ['number', 'null'], description: 'Null if the token is valid until it is deleted.' },
  last_used_date: {
    type: ['number', 'null'],
    description: 'Accurate to one minute. Null if the token was never used.',
  },
  brokers: { type: 'array', items: STRING, description: 'The brokers of a restricted token.' },
  type: { type: 'string', enum: Object.values(TOKEN_TYPES) },
};

const REQUIRED = Object.keys(FIELDS);

export const TOKENS: JsonSchema = { type: 'array', items: closed(FIELDS, { required: REQUIRED, title: 'Token' }) };

export const ISSUED_TOKEN: JsonSchema = closed(
  { ...FIELDS, token: { ...STRING, description: 'Bearer token. It is returned only once.' } },
  { required: [...REQUIRED, 'token'], title: 'IssuedToken' },
);

export const ROTATED_TOKEN: JsonSchema = closed(
  {
    ...FIELDS,
    token: { ...STRING, description: 'The new bearer token. It is returned only once.' },
    previous_valid_date: { ...NUMBER, description: 'When the previous token expires. Absent if it has expired.' },
  },
  { required: [...REQUIRED, 'token'], title: 'RotatedToken' },
);

const VALID_DATE: JsonSchema = {
  type: ['string', 'null'],
  pattern: '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d+)?)?(Z|[+-]\\d{2}:\\d{2}))?$|^\\d{12,15}$',
  description:
    'A time (ISO 8601 with a time zone), a day (until its end in UTC), or epoch milliseconds. Absent or null: valid until deleted.',
};

export const NEW_TOKEN: JsonSchema = closed(
  {
    name: { type: 'string', minLength: 1 },
    role: {
      type: 'string',
      enum: Object.values(PROJECT_ROLES_SPELLED),
      description: 'At most the role of the caller.',
    },
    brokers: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      description: 'Visible brokers of the project. Other brokers are hidden from the token.',
    },
    type: {
      type: 'string',
      enum: Object.values(TOKEN_TYPES),
      description:
        'A restricted token requires `brokers`, an unrestricted one has none. Default: restricted if `brokers` is set.',
    },
    valid_date: VALID_DATE,
  },
  {
    required: ['name', 'role'],
    title: 'NewToken',
    examples: [{ name: 'dashboard', role: 'viewer', type: 'unrestricted', valid_date: '2099-12-31' }],
  },
);

export const ROTATION: JsonSchema = closed(
  {
    overlap_seconds: {
      type: 'integer',
      minimum: 0,
      maximum: MAX_OVERLAP_SECONDS,
      description: `How long the previous token remains valid, in seconds. Default: ${DEFAULT_OVERLAP_SECONDS}.`,
    },
    valid_date: {
      ...VALID_DATE,
      description:
        'A time (ISO 8601 with a time zone), a day (until its end in UTC), or epoch milliseconds. Null: valid until deleted. Default: the end does not change.',
    },
  },
  { required: [], title: 'TokenRotation', examples: [{ overlap_seconds: 3_600 }] },
);

export const DELETED_TOKEN: JsonSchema = closed({ success: BOOLEAN }, { title: 'DeletedToken' });
