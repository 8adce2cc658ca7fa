import type { RequestContext } from '../../../gateway/context.ts';
import { builder, onBroker, writesAccessControl } from '../../../gateway/graphql/builder.ts';
import { WHOLE_POLICY_COST } from '../../../gateway/graphql/page-cost.ts';
import { mayControl } from '../../../platform/auth/viewer.ts';
import { invalid } from '../../../platform/errors.ts';
import type { ImportReport, ImportRequest } from '../access-control-service.ts';
import type { ImportSource } from '../documents/access-import.ts';
import { passwordProblem } from '../policy/access-names.ts';
import { AccessChangeReport, BlastRadius, ChangeOutcome } from './access-report-schema.ts';

const AccessPasswordInput = builder.inputType('AccessPasswordInput', {
  fields: (t) => ({
    username: t.string({ required: true }),
    password: t.string({ required: true, description: 'Never answered.' }),
  }),
});

const AccessControlImportInput = builder.inputType('AccessControlImportInput', {
  description: 'What a broker is to have; `document` or `mosquittoFile`.',
  fields: (t) => ({
    brokerId: t.id({ required: true }),
    projectId: t.id({ description: 'When given, the broker must be in this project.' }),
    document: t.field({ type: 'JSON', description: 'As exportAccessControl answers it.' }),
    mosquittoFile: t.string({
      description: 'The text of a dynamic-security.json. Its passwords cannot be taken over.',
    }),
    deleteOthers: t.boolean({
      defaultValue: false,
      description: 'Remove clients, groups and roles that it does not name; never those this service connects with.',
    }),
    passwords: t.field({
      type: [AccessPasswordInput],
      description: 'For accounts that are added; neither form holds any.',
    }),
    setPasswords: t.boolean({
      defaultValue: false,
      description:
        'Give `passwords` to accounts that are there, too. Each time: a broker does not tell whether an account has this password already, and whoever is connected with it is disconnected.',
    }),
  }),
});

const AccessControlImport = builder.objectRef<ImportReport>('AccessControlImport').implement({
  description: 'What it takes to get there, or what became of it. Without changes the broker has it all already.',
  fields: (t) => ({
    outcome: t.field({
      description: 'The worst of all changes.',
      type: ChangeOutcome,
      resolve: ({ report }) => report.outcome,
    }),
    changes: t.field({
      description: 'In the order in which they are carried out.',
      type: [AccessChangeReport],
      resolve: ({ report }) => [...report.changes],
    }),
    blastRadius: t.field({ type: BlastRadius, resolve: ({ report }) => report.blastRadius }),
    notes: t.stringList({
      description: 'What will not be as the source says, and why; for people.',
      resolve: ({ notes }) => [...notes],
    }),
    needPassword: t.stringList({
      description: 'Accounts that nobody can connect with before they are given a password.',
      resolve: ({ needPassword }) => [...needPassword],
    }),
  }),
});

interface GivenPassword {
  readonly username: string;
  readonly password: string;
}

interface ImportArguments {
  readonly input: {
    readonly brokerId: string;
    readonly document?: unknown;
    readonly mosquittoFile?: string | null | undefined;
    readonly deleteOthers?: boolean | null | undefined;
    readonly setPasswords?: boolean | null | undefined;
    readonly passwords?: readonly GivenPassword[] | null | undefined;
  };
}

function run(args: ImportArguments, { services, viewer }: RequestContext, dryRun: boolean): Promise<ImportReport> {
  const { brokerId, document, mosquittoFile, deleteOthers, setPasswords, passwords } = args.input;
  const broker = services.brokers.visible(brokerId, viewer);
  const request: ImportRequest = {
    source: sourceOf(document ?? null, mosquittoFile ?? null),
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
    throw invalid([{ path: 'input', reason: 'needs either document or mosquittoFile' }]);
  }
  return mosquittoFile === null ? { document } : { mosquittoFile };
}

function passwordsOf(given: readonly GivenPassword[]): ReadonlyMap<string, string> {
  const issues = given.flatMap(({ password }, index) => {
    const reason = passwordProblem(password);
    return reason === null ? [] : [{ path: `input.passwords.${index}.password`, reason }];
  });
  if (issues.length > 0) throw invalid(issues);
  return new Map(given.map(({ username, password }) => [username, password]));
}

builder.queryFields((t) => ({
  exportAccessControl: t.field({
    description: 'The whole access control of a broker as one JSON document, without passwords; the same for the same.',
    type: 'JSON',
    ...onBroker('VIEWER'),
    complexity: WHOLE_POLICY_COST,
    args: { brokerId: t.arg.id({ required: true }) },
    resolve: (_root, { brokerId }, { services, viewer }) =>
      services.accessControl.exportDocument(services.brokers.visible(brokerId, viewer)),
  }),
  planAccessControl: t.field({
    description: 'What applyAccessControl would do; sends nothing.',
    type: AccessControlImport,
    ...onBroker('VIEWER'),
    complexity: WHOLE_POLICY_COST,
    args: { input: t.arg({ type: AccessControlImportInput, required: true }) },
    resolve: (_root, args, context) => run(args, context, true),
  }),
}));

builder.mutationField('applyAccessControl', (t) =>
  t.field({
    description:
      'Makes a broker have what a document says. Doing it again changes nothing, except that `setPasswords` sets passwords again.',
    type: AccessControlImport,
    ...writesAccessControl,
    args: { input: t.arg({ type: AccessControlImportInput, required: true }) },
    resolve: (_root, args, context) => run(args, context, false),
  }),
);
