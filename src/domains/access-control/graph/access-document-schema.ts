import type { RequestContext } from '../../../gateway/context.ts';
import { builder, type OutputFields, onBroker, writesAccessControl } from '../../../gateway/graphql/builder.ts';
import { WHOLE_POLICY_COST } from '../../../gateway/graphql/page-cost.ts';
import { inputArgument, payloadsWith } from '../../../gateway/graphql/payloads.ts';
import { mayControl } from '../../../platform/auth/viewer.ts';
import { invalid } from '../../../platform/errors.ts';
import { replaceExactNumbers } from '../../../platform/text/exact-number.ts';
import { passwordProblem } from '../../../protocol/apis/access-control/access-names.ts';
import type { ImportReport, ImportRequest } from '../access-control-service.ts';
import type { ImportSource } from '../documents/access-import.ts';
import { names } from './access-change-inputs.ts';
import { BROKER_ID } from './access-objects-schema.ts';
import { nodesField, writeReportFields } from './access-report-schema.ts';
import { recordOfDerived } from './recorded-changes.ts';

export const AccountPasswordInput = builder.inputType('AccountPasswordInput', {
  description: 'The password of an account that the source names.',
  fields: (t) => names(t, 'username', 'password'),
});

const AccessControlImportInput = builder.inputType('AccessControlImportInput', {
  description: 'The access control to apply: either `document` or `mosquittoFile`.',
  fields: (t) => ({
    brokerId: t.id(BROKER_ID),
    projectId: t.id({ description: 'If given, the broker must be in this project.' }),
    document: t.field({ type: 'JSON', description: 'A document in the format of exportAccessControl, or its text.' }),
    mosquittoFile: t.string({
      description: 'The text of a dynamic-security.json file. Its password hashes cannot be imported.',
    }),
    deleteOthers: t.boolean({
      defaultValue: false,
      description:
        'Whether accounts, groups and roles that the source does not name are deleted, except those that this service requires.',
    }),
    passwords: t.field({
      type: [AccountPasswordInput],
      description: 'Passwords of new accounts. The source contains none.',
    }),
    setPasswords: t.boolean({
      defaultValue: false,
      description:
        'Whether `passwords` are also set for existing accounts. They are set each time, because passwords cannot be compared. Connected clients of the accounts are disconnected.',
    }),
  }),
});

const importArgument = () => inputArgument(AccessControlImportInput, 'The broker, and the access control to apply.');

export const importReportFields = <Report extends ImportReport>(t: OutputFields<Report>) => ({
  ...writeReportFields(t, 'In the order of execution.'),
  ...nodesField(t),
  notes: t.stringList({
    description: 'Descriptions of differences from the source that remain.',
    resolve: ({ notes }) => [...notes],
  }),
  needPassword: t.stringList({
    description: 'New accounts without a password, which cannot be used until one is set.',
    resolve: ({ needPassword }) => [...needPassword],
  }),
});

const importPayload = payloadsWith<ImportReport>({
  description: 'The planned or executed changes. Empty `changes`: the broker already matches the source.',
  fields: importReportFields,
});

const PlannedImport = importPayload('planAccessControl');
const AppliedImport = importPayload('applyAccessControl');

type GivenPassword = typeof AccountPasswordInput.$inferInput;

interface ImportArguments {
  readonly input: typeof AccessControlImportInput.$inferInput;
}

function run(args: ImportArguments, { services, viewer }: RequestContext, dryRun: boolean): Promise<ImportReport> {
  const { brokerId, document, mosquittoFile, deleteOthers, setPasswords, passwords } = args.input;
  const broker = services.brokers.visible(brokerId, viewer);
  const request: ImportRequest = {
    source: sourceOf(replaceExactNumbers(document ?? null), mosquittoFile ?? null),
    deleteOthers: deleteOthers ?? false,
    passwords: passwordsOf(passwords ?? []),
    setPasswords: setPasswords ?? false,
    dryRun,
    mayControl: mayControl(viewer, broker),
  };
  return services.accessControl.importDocument(broker, request);
}

function sourceOf(document: unknown, mosquittoFile: string | null): ImportSource {
  if ((document === null) === (mosquittoFile === null)) {
    throw invalid([{ path: 'input', reason: 'must have either document or mosquittoFile' }]);
  }
  return mosquittoFile === null ? { document } : { mosquittoFile };
}

export function passwordsOf(given: readonly GivenPassword[]): ReadonlyMap<string, string> {
  const issues = given.flatMap(({ password }, index) => {
    const reason = passwordProblem(password);
    return reason === null ? [] : [{ path: `input.passwords.${index}.password`, reason }];
  });
  if (issues.length > 0) throw invalid(issues);
  return new Map(given.map(({ username, password }) => [username, password]));
}

builder.queryFields((t) => ({
  exportAccessControl: t.field({
    description:
      'The whole access control of a broker as one JSON document without passwords. Equal states give equal documents.',
    type: 'JSON',
    ...onBroker('VIEWER'),
    complexity: WHOLE_POLICY_COST,
    args: { brokerId: t.arg.id(BROKER_ID) },
    resolve: (_root, { brokerId }, { services, viewer }) =>
      services.accessControl.exportDocument(services.brokers.visible(brokerId, viewer)),
  }),
  planAccessControl: t.field({
    description: 'Returns the changes that applyAccessControl would execute. Sends no command to the broker.',
    type: PlannedImport,
    ...onBroker('VIEWER'),
    complexity: WHOLE_POLICY_COST,
    args: importArgument(),
    resolve: (_root, args, context) => run(args, context, true),
  }),
}));

builder.mutationField('applyAccessControl', (t) =>
  t.field({
    description:
      'Brings a broker to the state of a document. Idempotent, except that `setPasswords` sets passwords again.',
    type: AppliedImport,
    ...writesAccessControl,
    args: importArgument(),
    resolve: async (_root, args, context) => {
      const report = await run(args, context, false);
      return { ...report, ...recordOfDerived(report.requested, report) };
    },
  }),
);
