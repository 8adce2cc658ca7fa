import { enumName, type JsonSchema, type Route, type RouteInput } from '../../../gateway/rest/route.ts';
import { closed, STRING } from '../../../gateway/rest/schemas.ts';
import { PROJECT_ROLES_SPELLED } from '../../projects/project-bodies.ts';

const PROVIDERS_SPELLED = { SSO: 'sso', LDAP: 'ldap' } as const;

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

const RULES_QUERY: JsonSchema = { type: 'object', properties: { providerId: PROVIDER } };

const RULES: JsonSchema = { type: 'array', items: closed(RULE, { title: 'SignInRule' }) };

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

const NEW_RULES: JsonSchema = closed(
  { providerId: PROVIDER, rule: NEW_RULE, rules: { type: 'array', items: NEW_RULE, maxItems: 100 } },
  { required: ['providerId'], examples: [{ providerId: 'sso', rules: [EXAMPLE] }] },
);

const RULE_CHANGE: JsonSchema = closed(RULE_FIELDS, { required: [], examples: [EXAMPLE] });

const FIELDS = 'id providerId: provider projectId role claimPath claimRegex: pattern';

const LIST = `query ($projectId: ID!, $provider: SignInProvider) {
  project(id: $projectId) { signInRules(provider: $provider) { ${FIELDS} } }
}`;
const CREATE = `mutation ($input: CreateSignInRulesInput!) { createSignInRules(input: $input) { rules { ${FIELDS} } } }`;
const UPDATE = 'mutation ($input: UpdateSignInRuleInput!) { updateSignInRule(input: $input) { rule { id } } }';
const DELETE = 'mutation ($input: DeleteSignInRuleInput!) { deleteSignInRule(input: $input) { deletedRuleId } }';

type RuleBody = Readonly<Partial<Record<'role' | 'claimPath' | 'claimRegex', string>>>;

const ruleOf = ({ role, claimPath, claimRegex: pattern }: RuleBody) => ({
  role: enumName(PROJECT_ROLES_SPELLED, role),
  claimPath,
  pattern,
});

const created = ({ params, body: { providerId, rule, rules } }: RouteInput) => {
  const provider = enumName(PROVIDERS_SPELLED, providerId);
  const bodies = [...(rule === undefined ? [] : [rule]), ...((rules ?? []) as unknown[])] as RuleBody[];
  return { input: { ...params, rules: bodies.map((one) => ({ provider, ...ruleOf(one) })) } };
};

const LIST_PATH = '/api/projects/{projectId}/oidc/mapping/rules';
const RULE_PATH = `${LIST_PATH}/{ruleId}`;
const COMMON = {
  tag: 'Single sign-on',
  spell: { ProjectRole: PROJECT_ROLES_SPELLED, SignInProvider: PROVIDERS_SPELLED },
  errors: [401, 403, 404, 500],
} as const;
const NAMES = { pattern: 'claimRegex' } as const;

/** Routes of sign-in rules, an addition to the documented interface. */
export const signInRuleRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: LIST_PATH,
    ...COMMON,
    operationId: 'listSignInRules',
    summary: 'List the sign-in rules of a project',
    keywords: 'sso oidc ldap group mapping',
    query: RULES_QUERY,
    operation: LIST,
    variables: ({ params, query }) => ({ ...params, provider: enumName(PROVIDERS_SPELLED, query.providerId) }),
    pick: 'project.signInRules',
    total: 'project.signInRules',
    response: RULES,
  },
  {
    method: 'POST',
    path: LIST_PATH,
    ...COMMON,
    operationId: 'createSignInRules',
    summary: 'Create sign-in rules',
    keywords: 'add sso oidc ldap group mapping',
    body: NEW_RULES,
    inputNames: NAMES,
    operation: CREATE,
    variables: created,
    pick: 'createSignInRules.rules',
    response: RULES,
  },
  {
    method: 'PUT',
    path: RULE_PATH,
    ...COMMON,
    operationId: 'updateSignInRule',
    summary: 'Change a sign-in rule',
    keywords: 'edit sso oidc ldap group mapping',
    body: RULE_CHANGE,
    inputNames: NAMES,
    operation: UPDATE,
    variables: ({ params, body }) => ({ input: { ...params, ...ruleOf(body) } }),
    status: 204,
  },
  {
    method: 'DELETE',
    path: RULE_PATH,
    ...COMMON,
    operationId: 'deleteSignInRule',
    summary: 'Delete a sign-in rule',
    keywords: 'remove sso oidc ldap group mapping',
    operation: DELETE,
    variables: ({ params }) => ({ input: params }),
    status: 204,
  },
];
