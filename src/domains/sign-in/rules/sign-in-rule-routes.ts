import { enumName, type Route, type RouteInput } from '../../../gateway/rest/route.ts';
import { PROJECT_ROLES_SPELLED } from '../../projects/project-bodies.ts';
import { NEW_RULES, PROVIDERS_SPELLED, RULE_CHANGE, RULES, RULES_QUERY } from './sign-in-rule-bodies.ts';

const FIELDS = 'id providerId: provider projectId role claimPath claimRegex: pattern';

const LIST = `query ($projectId: ID!, $provider: SignInProvider) {
  project(id: $projectId) { signInRules(provider: $provider) { ${FIELDS} } }
}`;
const CREATE = `mutation ($input: CreateSignInRulesInput!) { createSignInRules(input: $input) { rules { ${FIELDS} } } }`;
const UPDATE = 'mutation ($input: UpdateSignInRuleInput!) { updateSignInRule(input: $input) { rule { id } } }';
const DELETE = 'mutation ($input: DeleteSignInRuleInput!) { deleteSignInRule(input: $input) { deletedRuleId } }';

interface RuleBody {
  readonly role?: string;
  readonly claimPath?: string;
  readonly claimRegex?: string;
}

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
  tags: ['Single sign-on'],
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
    role: 'VIEWER',
    summary: 'List the sign-in rules of a project',
    query: RULES_QUERY,
    operation: LIST,
    variables: ({ params, query }) => ({ ...params, provider: enumName(PROVIDERS_SPELLED, query.providerId) }),
    pick: 'project.signInRules',
    response: RULES,
  },
  {
    method: 'POST',
    path: LIST_PATH,
    ...COMMON,
    role: 'ADMIN',
    summary: 'Create sign-in rules',
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
    role: 'ADMIN',
    summary: 'Change a sign-in rule',
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
    role: 'ADMIN',
    summary: 'Delete a sign-in rule',
    operation: DELETE,
    variables: ({ params }) => ({ input: params }),
    status: 204,
  },
];
