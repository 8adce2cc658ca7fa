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

interface WrittenRule {
  readonly role?: string;
  readonly claimPath?: string;
  readonly claimRegex?: string;
}

const ruleOf = ({ role, claimPath, claimRegex: pattern }: WrittenRule) => ({
  role: enumName(PROJECT_ROLES_SPELLED, role),
  claimPath,
  pattern,
});

const created = ({ params, body: { providerId, rule, rules } }: RouteInput) => {
  const provider = enumName(PROVIDERS_SPELLED, providerId);
  const written = [...(rule === undefined ? [] : [rule]), ...((rules ?? []) as unknown[])] as WrittenRule[];
  return { input: { ...params, rules: written.map((one) => ({ provider, ...ruleOf(one) })) } };
};

const LIST_PATH = '/api/projects/{projectId}/oidc/mapping/rules';
const RULE_PATH = `${LIST_PATH}/{ruleId}`;
const TOLD = {
  tags: ['Single sign-on'],
  spell: { ProjectRole: PROJECT_ROLES_SPELLED, SignInProvider: PROVIDERS_SPELLED },
  errors: [401, 403, 404, 500],
} as const;
const NAMES = { pattern: 'claimRegex' } as const;

/** Roles of people who sign in elsewhere; beyond the documented interface. */
export const signInRuleRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: LIST_PATH,
    ...TOLD,
    role: 'VIEWER',
    summary: 'List the rules that give roles to people who sign in elsewhere',
    query: RULES_QUERY,
    operation: LIST,
    variables: ({ params, query }) => ({ ...params, provider: enumName(PROVIDERS_SPELLED, query.providerId) }),
    pick: 'project.signInRules',
    response: RULES,
  },
  {
    method: 'POST',
    path: LIST_PATH,
    ...TOLD,
    role: 'ADMIN',
    summary: 'Make such rules',
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
    ...TOLD,
    role: 'ADMIN',
    summary: 'Change such a rule',
    body: RULE_CHANGE,
    inputNames: NAMES,
    operation: UPDATE,
    variables: ({ params, body }) => ({ input: { ...params, ...ruleOf(body) } }),
    status: 204,
  },
  {
    method: 'DELETE',
    path: RULE_PATH,
    ...TOLD,
    role: 'ADMIN',
    summary: 'Remove such a rule',
    operation: DELETE,
    variables: ({ params }) => ({ input: params }),
    status: 204,
  },
];
