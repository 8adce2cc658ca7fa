import { requireSignedIn, requireWholeProject } from '../../auth/viewer.ts';
import type { SignInRule as SignInRuleRow } from '../../generated/sqlite/client.ts';
import { builder, inProject, requires } from '../../graphql/builder.ts';
import { Project, ProjectRole } from '../../projects/project-schema.ts';
import { SignInProvider } from '../../users/user-schema.ts';
import type { SignInProvider as ProviderName } from '../../users/user-service.ts';

const SignInRule = builder.objectRef<SignInRuleRow>('SignInRule').implement({
  description: 'People who sign in elsewhere and of whom the provider says this have the role in the project.',
  fields: (t) => ({
    id: t.exposeID('id'),
    projectId: t.exposeID('projectId'),
    provider: t.field({ type: SignInProvider, resolve: ({ provider }) => provider as ProviderName }),
    claimPath: t.exposeString('claimPath', { description: 'Names of nested members, with dots between them.' }),
    pattern: t.exposeString('pattern', {
      description: 'A regular expression for a whole value, or for one of the values of a list.',
    }),
    role: t.expose('role', { type: ProjectRole }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
});

builder.objectFields(Project, (t) => ({
  signInRules: t.field({
    description: 'Roles of people who sign in elsewhere. Not for tokens that are restricted to brokers.',
    type: [SignInRule],
    ...requires('VIEWER', { elsewhere: 'NOT_ALLOWED' }),
    args: { provider: t.arg({ type: SignInProvider, description: 'Only rules for this one.' }) },
    resolve: ({ id }, { provider }, { services, viewer }) => {
      requireWholeProject(requireSignedIn(viewer));
      return services.signInRules.of(id, provider);
    },
  }),
}));

const PATTERN =
  'At most 200 characters. Literals, `.`, classes, groups, `|`, `*`, `+`, `?`, `{2,5}`, `(?i)` at the start; neither look-around nor back-references.';

const NewSignInRule = builder.inputType('NewSignInRuleInput', {
  fields: (t) => ({
    provider: t.field({ type: SignInProvider, required: true }),
    claimPath: t.string({ description: 'Without it: the claim that has the groups.' }),
    pattern: t.string({ required: true, description: PATTERN }),
    role: t.field({ type: ProjectRole, required: true }),
  }),
});
const CreateSignInRulesInput = builder.inputType('CreateSignInRulesInput', {
  fields: (t) => ({
    projectId: t.id({ required: true }),
    rules: t.field({ type: [NewSignInRule], required: true }),
  }),
});
const UpdateSignInRuleInput = builder.inputType('UpdateSignInRuleInput', {
  fields: (t) => ({
    ruleId: t.id({ required: true }),
    projectId: t.id({ description: 'NOT_FOUND when it is a rule of another one.' }),
    claimPath: t.string(),
    pattern: t.string({ description: PATTERN }),
    role: t.field({ type: ProjectRole }),
  }),
});
const DeleteSignInRuleInput = builder.inputType('DeleteSignInRuleInput', {
  fields: (t) => ({
    ruleId: t.id({ required: true }),
    projectId: t.id({ description: 'NOT_FOUND when it is a rule of another one.' }),
  }),
});

const SignInRulesPayload = builder
  .objectRef<{ readonly rules: readonly SignInRuleRow[] }>('CreateSignInRulesPayload')
  .implement({ fields: (t) => ({ rules: t.field({ type: [SignInRule], resolve: ({ rules }) => [...rules] }) }) });
const SignInRulePayload = builder
  .objectRef<{ readonly rule: SignInRuleRow }>('UpdateSignInRulePayload')
  .implement({ fields: (t) => ({ rule: t.field({ type: SignInRule, resolve: ({ rule }) => rule }) }) });
const DeleteSignInRulePayload = builder
  .objectRef<{ readonly deletedRuleId: string }>('DeleteSignInRulePayload')
  .implement({ fields: (t) => ({ deletedRuleId: t.exposeID('deletedRuleId') }) });

builder.mutationFields((t) => ({
  createSignInRules: t.field({
    description: 'Gives roles in a project to people who sign in elsewhere. All of the rules are made, or none.',
    type: SignInRulesPayload,
    ...inProject('ADMIN'),
    args: { input: t.arg({ type: CreateSignInRulesInput, required: true }) },
    resolve: async (_root, { input: { projectId, rules } }, { services }) => ({
      rules: await services.signInRules.create(projectId, rules),
    }),
  }),
  updateSignInRule: t.field({
    description: 'Only what is given changes. Needs ADMIN in the rule’s project.',
    type: SignInRulePayload,
    authScopes: { signedIn: true },
    ...requires('ADMIN', { elsewhere: 'NOT_ALLOWED' }),
    args: { input: t.arg({ type: UpdateSignInRuleInput, required: true }) },
    resolve: async (_root, { input: { ruleId, projectId, ...change } }, { services, viewer }) => ({
      rule: await services.signInRules.update(ruleId, change, viewer, projectId),
    }),
  }),
  deleteSignInRule: t.field({
    description: 'Needs ADMIN in the rule’s project. What people follow with a role by this rule alone ends.',
    type: DeleteSignInRulePayload,
    authScopes: { signedIn: true },
    ...requires('ADMIN', { elsewhere: 'NOT_ALLOWED' }),
    args: { input: t.arg({ type: DeleteSignInRuleInput, required: true }) },
    resolve: async (_root, { input: { ruleId, projectId } }, { services, viewer }) => {
      await services.signInRules.remove(ruleId, viewer, projectId);
      return { deletedRuleId: ruleId };
    },
  }),
}));
