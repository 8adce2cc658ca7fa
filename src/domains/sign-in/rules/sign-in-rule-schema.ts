import { builder, inProject, requires } from '../../../gateway/graphql/builder.ts';
import type { SignInRule as SignInRuleRow } from '../../../generated/sqlite/client.ts';
import { requireSignedIn, requireWholeProject } from '../../../platform/auth/viewer.ts';
import { Project, ProjectRole } from '../../projects/project-schema.ts';
import type { SignInProvider as ProviderName } from '../../users/sign-in-methods.ts';
import { SignInProvider } from '../../users/user-schema.ts';

const SignInRule = builder.objectRef<SignInRuleRow>('SignInRule').implement({
  description: 'People who sign in elsewhere and of whom the provider says this have the role in the project.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Stays the same when the rule changes.' }),
    projectId: t.exposeID('projectId', { description: 'The project that the role is in.' }),
    provider: t.field({
      description: 'Where people sign in for whom it is.',
      type: SignInProvider,
      resolve: ({ provider }) => provider as ProviderName,
    }),
    claimPath: t.exposeString('claimPath', { description: 'Names of nested members, with dots between them.' }),
    pattern: t.exposeString('pattern', {
      description: 'A regular expression for a whole value, or for one of the values of a list.',
    }),
    role: t.expose('role', { type: ProjectRole, description: 'Of several that people get, the highest counts.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
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
  description: 'A rule to be made.',
  fields: (t) => ({
    provider: t.field({
      type: SignInProvider,
      required: true,
      description: 'Where people sign in for whom it is. It does not change later.',
    }),
    claimPath: t.string({ description: 'Without it: the claim that has the groups.' }),
    pattern: t.string({ required: true, description: PATTERN }),
    role: t.field({ type: ProjectRole, required: true, description: 'What people get whom it fits.' }),
  }),
});
const CreateSignInRulesInput = builder.inputType('CreateSignInRulesInput', {
  description: 'Rules of one project.',
  fields: (t) => ({
    projectId: t.id({ required: true, description: 'The project that the roles are in.' }),
    rules: t.field({ type: [NewSignInRule], required: true, description: 'At least one.' }),
  }),
});
const UpdateSignInRuleInput = builder.inputType('UpdateSignInRuleInput', {
  description: 'What is to change of a rule.',
  fields: (t) => ({
    ruleId: t.id({ required: true, description: 'The rule that changes.' }),
    projectId: t.id({ description: 'NOT_FOUND when it is a rule of another one.' }),
    claimPath: t.string({ description: 'Names of nested members, with dots between them.' }),
    pattern: t.string({ description: PATTERN }),
    role: t.field({ type: ProjectRole, description: 'What people get whom it fits.' }),
  }),
});
const DeleteSignInRuleInput = builder.inputType('DeleteSignInRuleInput', {
  description: 'Which rule goes.',
  fields: (t) => ({
    ruleId: t.id({ required: true, description: 'The rule that goes.' }),
    projectId: t.id({ description: 'NOT_FOUND when it is a rule of another one.' }),
  }),
});

const SignInRulesPayload = builder
  .objectRef<{ readonly rules: readonly SignInRuleRow[] }>('CreateSignInRulesPayload')
  .implement({
    description: 'What was made.',
    fields: (t) => ({
      rules: t.field({
        description: 'In the order of the input.',
        type: [SignInRule],
        resolve: ({ rules }) => [...rules],
      }),
    }),
  });
const SignInRulePayload = builder.objectRef<{ readonly rule: SignInRuleRow }>('UpdateSignInRulePayload').implement({
  description: 'What changed.',
  fields: (t) => ({
    rule: t.field({ description: 'As it is now.', type: SignInRule, resolve: ({ rule }) => rule }),
  }),
});
const DeleteSignInRulePayload = builder
  .objectRef<{ readonly deletedRuleId: string }>('DeleteSignInRulePayload')
  .implement({
    description: 'What went.',
    fields: (t) => ({ deletedRuleId: t.exposeID('deletedRuleId', { description: 'As it was given.' }) }),
  });

builder.mutationFields((t) => ({
  createSignInRules: t.field({
    description:
      'Gives roles in a project to people who sign in elsewhere. All of the rules are made, or none. Not with a token.',
    type: SignInRulesPayload,
    ...inProject('ADMIN', { byTokens: false }),
    args: {
      input: t.arg({ type: CreateSignInRulesInput, required: true, description: 'Which project, and its new rules.' }),
    },
    resolve: async (_root, { input: { projectId, rules } }, { services }) => ({
      rules: await services.signInRules.create(projectId, rules),
    }),
  }),
  updateSignInRule: t.field({
    description: 'Only what is given changes. Needs ADMIN in the rule’s project, and no token.',
    type: SignInRulePayload,
    authScopes: { signedIn: true },
    ...requires('ADMIN', { byTokens: false, elsewhere: 'NOT_ALLOWED' }),
    args: {
      input: t.arg({ type: UpdateSignInRuleInput, required: true, description: 'Which rule, and what changes.' }),
    },
    resolve: async (_root, { input: { ruleId, projectId, ...change } }, { services, viewer }) => ({
      rule: await services.signInRules.update(ruleId, change, viewer, projectId),
    }),
  }),
  deleteSignInRule: t.field({
    description:
      'Needs ADMIN in the rule’s project, and no token. What people follow with a role by this rule alone ends.',
    type: DeleteSignInRulePayload,
    authScopes: { signedIn: true },
    ...requires('ADMIN', { byTokens: false, elsewhere: 'NOT_ALLOWED' }),
    args: { input: t.arg({ type: DeleteSignInRuleInput, required: true, description: 'Which rule.' }) },
    resolve: async (_root, { input: { ruleId, projectId } }, { services, viewer }) => {
      await services.signInRules.remove(ruleId, viewer, projectId);
      return { deletedRuleId: ruleId };
    },
  }),
}));
