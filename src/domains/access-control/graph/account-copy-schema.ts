import type { RequestContext } from '../../../gateway/context.ts';
import { builder, writesAccessControl } from '../../../gateway/graphql/builder.ts';
import { inputArgument, payloadsWith } from '../../../gateway/graphql/payloads.ts';
import { mayControl } from '../../../platform/auth/viewer.ts';
import { invalid } from '../../../platform/errors.ts';
import type { CopyReport } from '../account-copies.ts';
import { AccountPasswordInput, importReportFields, passwordsOf } from './access-document-schema.ts';
import { DRY_RUN, target } from './access-mutations-schema.ts';
import { recordOfDerived } from './recorded-changes.ts';

const MAX_ACCOUNTS = 1_000;

const CopyAccountsInput = builder.inputType('CopyAccountsInput', {
  description: 'The accounts, and the two brokers.',
  fields: (t) => ({
    ...target(t),
    fromBrokerId: t.id({ required: true, description: 'The broker that has the accounts. It stays unchanged.' }),
    usernames: t.stringList({
      required: true,
      description: `The user names of the accounts. At most ${MAX_ACCOUNTS}.`,
    }),
    passwords: t.field({
      type: [AccountPasswordInput],
      description: 'New passwords of new accounts. The other accounts keep theirs if both brokers are embedded.',
    }),
    dryRun: t.boolean({ defaultValue: false, description: DRY_RUN }),
  }),
});

const CopyAccountsPayload = payloadsWith<CopyReport>({
  description: 'The planned or executed changes.',
  fields: (t) => ({
    ...importReportFields(t),
    keepPassword: t.stringList({
      description: 'New accounts with the same password as on the other broker.',
      resolve: ({ keepPassword }) => [...keepPassword],
    }),
  }),
})('copyAccounts');

interface CopyArguments {
  readonly input: typeof CopyAccountsInput.$inferInput;
}

builder.mutationField('copyAccounts', (t) =>
  t.field({
    description:
      'Copies accounts to another broker, with their groups and roles. Objects that the broker already has stay unchanged. To move the accounts, delete them on the other broker afterwards. The same permissions are required on both brokers.',
    type: CopyAccountsPayload,
    ...writesAccessControl,
    authScopes: (root: unknown, args: CopyArguments, context: RequestContext) =>
      writesAccessControl.authScopes(root, args, context) &&
      writesAccessControl.authScopes(root, { brokerId: args.input.fromBrokerId, dryRun: args.input.dryRun }, context),
    args: inputArgument(CopyAccountsInput, 'The accounts, and the two brokers.'),
    resolve: async (_root, { input }, { services, viewer }) => {
      const { brokerId, fromBrokerId, usernames, passwords, dryRun } = input;
      if (usernames.length > MAX_ACCOUNTS) {
        throw invalid([{ path: 'input.usernames', reason: `must not have more than ${MAX_ACCOUNTS} entries` }]);
      }
      if (fromBrokerId === brokerId) {
        throw invalid([{ path: 'input.fromBrokerId', reason: 'must be another broker than brokerId' }]);
      }
      const to = services.brokers.visible(brokerId, viewer);
      const report = await services.accountCopies.copy(services.brokers.visible(fromBrokerId, viewer), to, {
        usernames,
        passwords: passwordsOf(passwords ?? []),
        dryRun: dryRun ?? false,
        mayControl: mayControl(viewer, to),
      });
      return { ...report, ...recordOfDerived(report.requested, report) };
    },
  }),
);
