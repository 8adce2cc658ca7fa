import type { JsonSchema } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed, NUMBER, STRING } from '../../gateway/rest/schemas.ts';
import { PROJECT_ROLES_SPELLED } from '../projects/project-bodies.ts';
import { DEFAULT_OVERLAP_SECONDS, MAX_OVERLAP_SECONDS } from './rotation.ts';

/** Documented spellings of the graph's enum. */
export const TOKEN_TYPES = { RESTRICTED: 'restricted', UNRESTRICTED: 'unrestricted' } as const;

const TOLD: Readonly<Record<string, JsonSchema>> = {
  id: STRING,
  project_id: STRING,
  role_id: { type: 'string', enum: [...Object.values(PROJECT_ROLES_SPELLED), 'root'] },
  issuer: { ...STRING, description: 'E-mail of the user who made it.' },
  name: STRING,
  hash: { ...STRING, description: 'SHA-256 of the token, hexadecimal.' },
  issue_date: { ...NUMBER, description: 'Epoch milliseconds, as all of these.' },
  valid_date: { ...NUMBER, description: 'Left out: until deleted.' },
  last_used_date: { ...NUMBER, description: 'To the minute; left out: never.' },
  brokers: { type: 'array', items: STRING, description: 'Those that it is restricted to.' },
  type: { type: 'string', enum: Object.values(TOKEN_TYPES) },
};

const ALWAYS = ['id', 'project_id', 'role_id', 'issuer', 'name', 'hash', 'issue_date', 'brokers', 'type'];

export const TOKENS: JsonSchema = { type: 'array', items: closed(TOLD, { required: ALWAYS, title: 'Token' }) };

export const ISSUED_TOKEN: JsonSchema = closed(
  { ...TOLD, token: { ...STRING, description: 'What is sent as "Authorization: Bearer …". Told this once.' } },
  { required: [...ALWAYS, 'token'], title: 'IssuedToken' },
);

export const ROTATED_TOKEN: JsonSchema = closed(
  {
    ...TOLD,
    token: { ...STRING, description: 'The new one. Told this once.' },
    previous_valid_date: { ...NUMBER, description: 'Until when the one before is good; left out: no longer.' },
  },
  { required: [...ALWAYS, 'token'], title: 'RotatedToken' },
);

const VALID_DATE: JsonSchema = {
  type: ['string', 'null'],
  pattern: '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d+)?)?(Z|[+-]\\d{2}:\\d{2}))?$|^\\d{12,15}$',
  description:
    'A moment (ISO 8601 with its zone), a day (until its end in UTC), or epoch milliseconds. Without it: until deleted.',
};

export const NEW_TOKEN: JsonSchema = closed(
  {
    name: { type: 'string', minLength: 1 },
    role: { type: 'string', enum: Object.values(PROJECT_ROLES_SPELLED), description: 'Never above the own role.' },
    brokers: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      description: 'Only these brokers of the project; a token cannot learn that there are others.',
    },
    type: {
      type: 'string',
      enum: Object.values(TOKEN_TYPES),
      description: 'Restricted needs `brokers`, unrestricted has none. Without it: as `brokers` says.',
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
      description: `How long the token as it was remains good; by default ${DEFAULT_OVERLAP_SECONDS}.`,
    },
    valid_date: {
      ...VALID_DATE,
      description:
        'A moment (ISO 8601 with its zone), a day (until its end in UTC), or epoch milliseconds. The new end. Without it: as before; null: none.',
    },
  },
  { required: [], title: 'TokenRotation', examples: [{ overlap_seconds: 3_600 }] },
);

export const DELETED_TOKEN: JsonSchema = closed({ success: BOOLEAN }, { title: 'DeletedToken' });
