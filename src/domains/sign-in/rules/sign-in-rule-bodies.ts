import type { JsonSchema } from '../../../gateway/rest/route.ts';
import { closed, STRING } from '../../../gateway/rest/schemas.ts';
import { PROJECT_ROLES_SPELLED } from '../../projects/project-bodies.ts';

export const PROVIDERS_SPELLED = { SSO: 'sso', LDAP: 'ldap' } as const;

const PROVIDER: JsonSchema = {
  type: 'string',
  enum: Object.values(PROVIDERS_SPELLED),
  description: '`sso`: the OpenID provider, `ldap`: the LDAP directory.',
};
const ROLE: JsonSchema = { type: 'string', enum: Object.values(PROJECT_ROLES_SPELLED) };

const RULE: Readonly<Record<string, JsonSchema>> = {
  id: STRING,
  providerId: PROVIDER,
  projectId: STRING,
  role: ROLE,
  claimPath: STRING,
  claimRegex: STRING,
};

export const RULES_QUERY: JsonSchema = { type: 'object', properties: { providerId: PROVIDER } };

export const RULES: JsonSchema = { type: 'array', items: closed(RULE, { title: 'SignInRule' }) };

const RULE_FIELDS: Readonly<Record<string, JsonSchema>> = {
  role: ROLE,
  claimPath: {
    ...STRING,
    description: 'Path of the claim: names of nested members, separated by dots. Default: the groups claim.',
  },
  claimRegex: {
    ...STRING,
    description: 'Regular expression in RE2 syntax that must match a whole value, or one value of a list.',
  },
};

const NEW_RULE = closed(RULE_FIELDS, { required: ['role', 'claimRegex'], title: 'NewSignInRule' });
const EXAMPLE = { role: 'editor', claimPath: 'groups', claimRegex: 'plant-(ops|dev)' };

export const NEW_RULES: JsonSchema = closed(
  { providerId: PROVIDER, rule: NEW_RULE, rules: { type: 'array', items: NEW_RULE, maxItems: 100 } },
  { required: ['providerId'], examples: [{ providerId: 'sso', rules: [EXAMPLE] }] },
);

export const RULE_CHANGE: JsonSchema = closed(RULE_FIELDS, { required: [], examples: [EXAMPLE] });
