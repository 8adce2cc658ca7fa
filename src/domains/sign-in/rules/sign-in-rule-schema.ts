import { builder, type InputFields, inProject, requires } from '../../../gateway/graphql/builder.ts';
import { findsNode, Node } from '../../../gateway/graphql/node.ts';
import { idPayload, inputArgument } from '../../../gateway/graphql/payloads.ts';
import { belongsToProject } from '../../../gateway/graphql/type-scopes.ts';
import { ofProject, viewerCan } from '../../../gateway/graphql/viewer-can.ts';
import { requireSignedIn, requireWholeProject, seesWholeProject } from '../../../platform/auth/viewer.ts';
import { OutOfSight } from '../../../platform/errors.ts';
import { Project, ProjectRole } from '../../projects/project-schema.ts';
import type { SignInProvider as ProviderName } from '../../users/sign-in-methods.ts';
import { SignInProvider } from '../../users/user-schema.ts';

const SignInRule = builder.prismaObject('SignInRule', {
  description: 'A rule that grants a project role to users of an external provider whose claim matches a pattern.',
  ...belongsToProject(({ projectId }: { readonly projectId: string }) => projectId),
  interfaces: [Node],
  select: { id: true, projectId: true },
  fields: (t) => ({
    projectId: t.exposeID('projectId', { description: 'The project of the role.' }),
    provider: t.field({
      description: 'The external provider.',
      type: SignInProvider,
      select: { provider: true },
      resolve: ({ provider }) => provider as ProviderName,
    }),
    claimPath: t.exposeString('claimPath', {
      description: 'Path of the claim: names of nested members, separated by dots.',
    }),
    pattern: t.exposeString('pattern', {
      description: 'A regular expression in RE2 syntax that must match a whole value, or one value of a list.',
    }),
    role: t.expose('role', {
      type: ProjectRole,
      description: 'The granted role. If a user has several roles, the highest one applies.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time of creation.' }),
  }),
});

findsNode('signInRule', async (id, { db, viewer }) => {
  const rule = await db.signInRule.findUnique({ where: { id } });
  if (rule !== null && !seesWholeProject(viewer, rule.projectId)) throw new OutOfSight('signInRule', id);
  return rule;
});

builder.prismaObjectFields(Project, (t) => ({
  signInRules: t.relation('signInRules', {
    description: 'The sign-in rules of the project. Not for tokens that are restricted to brokers.',
    nullable: true,
    ...requires('VIEWER', { elsewhere: 'NOT_ALLOWED' }),
    args: { provider: t.arg({ type: SignInProvider, description: 'Only rules of this provider.' }) },
    authScopes: (_project, _args, { viewer }) => {
      requireWholeProject(requireSignedIn(viewer));
      return true;
    },
    query: ({ provider }) => ({ where: provider == null ? {} : { provider }, orderBy: { id: 'asc' } }),
  }),
}));

type SignInRuleKey = typeof SignInRule.$inferType;

const PATTERN =
  'A regular expression in RE2 syntax with at most 200 characters. It must match a whole value, or one value of a list. `(?i)` at the start ignores case.';

const NewSignInRule = builder.inputType('NewSignInRuleInput', {
  description: 'A new rule.',
  fields: (t) => ({
    provider: t.field({
      type: SignInProvider,
      required: true,
      description: 'The external provider. It cannot be changed later.',
    }),
    claimPath: t.string({ description: 'Path of the claim. Default: the groups claim of the provider.' }),
    pattern: t.string({ required: true, description: PATTERN }),
    role: t.field({ type: ProjectRole, required: true, description: 'The role of matching users.' }),
  }),
});
const CreateSignInRulesInput = builder.inputType('CreateSignInRulesInput', {
  description: 'New rules of one project.',
  fields: (t) => ({
    projectId: t.id({ required: true, description: 'The project of the roles.' }),
    rules: t.field({ type: [NewSignInRule], required: true, description: 'The rules, at least one.' }),
  }),
});
const target = (t: InputFields) => ({
  ruleId: t.id({ required: true, description: 'Id of the rule.' }),
  projectId: t.id({ description: 'If set, the rule must belong to this project (otherwise NOT_FOUND).' }),
});
const UpdateSignInRuleInput = builder.inputType('UpdateSignInRuleInput', {
  description: 'Changes of a rule. Absent fields do not change.',
  fields: (t) => ({
    ...target(t),
    claimPath: t.string({ description: 'Path of the claim: names of nested members, separated by dots.' }),
    pattern: t.string({ description: PATTERN }),
    role: t.field({ type: ProjectRole, description: 'The role of matching users.' }),
  }),
});
const DeleteSignInRuleInput = builder.inputType('DeleteSignInRuleInput', {
  description: 'The rule to delete.',
  fields: target,
});

const SignInRulesPayload = builder
  .objectRef<{ readonly rules: readonly SignInRuleKey[] }>('CreateSignInRulesPayload')
  .implement({
    description: 'The created rules.',
    fields: (t) => ({
      rules: t.expose('rules', { description: 'The rules in the order of the input.', type: [SignInRule] }),
    }),
  });
const UpdateSignInRulePayload = builder
  .objectRef<{ readonly rule: SignInRuleKey }>('UpdateSignInRulePayload')
  .implement({
    description: 'The changed rule.',
    fields: (t) => ({
      rule: t.expose('rule', { description: 'The rule after the change.', type: SignInRule }),
    }),
  });
const DeleteSignInRulePayload = idPayload('deleteSignInRule', 'deletedRuleId', 'The deleted rule.', 'Id of the rule.');

builder.mutationFields((t) => ({
  createSignInRules: t.field({
    description:
      'Creates sign-in rules: all or none. Requires the ADMIN role in the project. Project tokens are not allowed.',
    type: SignInRulesPayload,
    ...inProject('ADMIN', { byTokens: false }),
    args: inputArgument(CreateSignInRulesInput, 'The project and the rules.'),
    resolve: async (_root, { input: { projectId, rules } }, { services }) => ({
      rules: await services.signInRules.create(projectId, rules),
    }),
  }),
  updateSignInRule: t.field({
    description:
      'Changes a sign-in rule. Requires the ADMIN role in the project of the rule. Project tokens are not allowed.',
    type: UpdateSignInRulePayload,
    authScopes: { signedIn: true },
    ...requires('ADMIN', { byTokens: false, elsewhere: 'NOT_ALLOWED' }),
    args: inputArgument(UpdateSignInRuleInput, 'The rule and the changes.'),
    resolve: async (_root, { input: { ruleId, projectId, ...change } }, { services, viewer }) => ({
      rule: await services.signInRules.update(ruleId, change, viewer, projectId),
    }),
  }),
  deleteSignInRule: t.field({
    description:
      'Deletes a sign-in rule. Subscriptions of users whose only role came from the rule end. Requires the ADMIN role in the project of the rule. Project tokens are not allowed.',
    type: DeleteSignInRulePayload,
    authScopes: { signedIn: true },
    ...requires('ADMIN', { byTokens: false, elsewhere: 'NOT_ALLOWED' }),
    args: inputArgument(DeleteSignInRuleInput, 'The rule.'),
    resolve: async (_root, { input: { ruleId, projectId } }, { services, viewer }) => {
      await services.signInRules.remove(ruleId, viewer, projectId);
      return { deletedRuleId: ruleId };
    },
  }),
}));

builder.prismaObjectFields(Project, (t) => ({
  viewerCanManageSignInRules: t.boolean(
    viewerCan('Mutation.createSignInRules', 'create, change and delete sign-in rules', ofProject),
  ),
}));
