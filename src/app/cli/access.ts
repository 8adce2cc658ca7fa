import { writeFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { ServiceError } from '../../platform/errors.ts';
import { isFields } from '../../protocol/control/fields.ts';
import { explanationText, importText, type ShownExplanation, type ShownImport } from './access-text.ts';
import { cannotWrite } from './audit.ts';
import { parseJson, readPasswords, readText, STANDARD_INPUT } from './files.ts';
import { runOnGraph } from './graph.ts';
import { type Cli, type JsonOption, NegativeResult, print, type ToAction } from './terminal.ts';

const ACTIONS = ['publish', 'receive', 'subscribe', 'unsubscribe'];

export function addAccessCommands(program: Command, toAction: ToAction): void {
  const access = program
    .command('access')
    .description(
      'Export and import the access control of a broker (dynamic security). Works with and without a running service.',
    );
  access
    .command('export <brokerId>')
    .description('Write the complete access control as one JSON document without passwords, in a stable order.')
    .option('--output <file>', 'write to a file')
    .option('--json', 'no effect: the document always is JSON')
    .action(toAction(exportAccess));

  const importing = (name: string, applies: boolean, description: string) =>
    access
      .command(`${name} <brokerId>`)
      .argument('<file>', 'a document that `export` wrote, or a dynamic-security.json; - reads standard input')
      .description(description)
      .option('--mosquitto-file', 'the file is a dynamic-security.json of Mosquitto, also if it does not look so')
      .option('--delete-others', 'delete clients, groups and roles that are not in the file')
      .option(
        '--passwords <file>',
        'JSON object with passwords of created clients, by user name; - reads standard input',
      )
      .option('--set-passwords', 'also set the passwords of existing clients, at every call; disconnects them')
      .option('--json', 'print JSON')
      .action(
        toAction((cli, brokerId: string, file: string, options: ImportOptions) =>
          importAccess(cli, applies, brokerId, file, options),
        ),
      );
  importing(
    'plan',
    false,
    'Print the commands of `apply`, the clients that they disconnect and the accounts without a password. Sends nothing.',
  );
  importing(
    'apply',
    true,
    'Change the access control of the broker to that of the file. Repeating it changes nothing, except for --set-passwords.',
  );

  access
    .command('explain <brokerId>')
    .argument('<action>', ACTIONS.join(', '), accessAction)
    .argument('<topic>', 'a topic; for subscribe and unsubscribe a topic filter')
    .description('Show whether a client may do something, and which rule decides.')
    .option('--username <name>', 'account (default: a client without user name)')
    .option('--client-id <id>', 'client id; without it, rules with %c cannot be evaluated')
    .option('--with-role <name...>', 'add these roles for the evaluation')
    .option('--without-role <name...>', 'remove these roles for the evaluation')
    .option('--exit-code', 'exit with code 1 if it is denied, for scripts')
    .option('--json', 'print JSON')
    .action(toAction(explainAccess));
}

function accessAction(text: string): string {
  if (ACTIONS.includes(text.toLowerCase())) return text;
  throw new InvalidArgumentError(`It must be one of ${ACTIONS.join(', ')}.`);
}

type AccessDocument = Readonly<Record<'clients' | 'groups' | 'roles', readonly unknown[]>>;

/** Writes the document with indentation, so that a version control system shows changes by line. */
async function exportAccess(cli: Cli, brokerId: string, { output }: { readonly output?: string }): Promise<void> {
  const query = 'query ($brokerId: ID!) { document: exportAccessControl(brokerId: $brokerId) }';
  const { document } = await runOnGraph<{ document: AccessDocument }>(cli, query, { brokerId });
  const text = `${JSON.stringify(document, null, 2)}\n`;
  if (output === undefined) {
    cli.out(text);
    return;
  }
  await writeFile(output, text).catch(cannotWrite(output));
  const { clients, groups, roles } = document;
  cli.err(`Wrote ${clients.length} clients, ${groups.length} groups and ${roles.length} roles to ${output}.\n`);
}

interface ImportOptions extends JsonOption {
  readonly mosquittoFile?: boolean;
  readonly deleteOthers?: boolean;
  readonly setPasswords?: boolean;
  readonly passwords?: string;
}

const IMPORT_FIELDS = `
  outcome notes needPassword
  changes { outcome commands { command fields state error { message } } error { message } }
  blastRadius { clientCount clients { clientId username } usernames anonymous gateway isComplete }`;
const PLAN = `query ($input: AccessControlImportInput!) { report: planAccessControl(input: $input) { ${IMPORT_FIELDS} } }`;
const APPLY = `mutation ($input: AccessControlImportInput!) { report: applyAccessControl(input: $input) { ${IMPORT_FIELDS} } }`;

const DONE: ReadonlySet<string> = new Set(['APPLIED', 'UNCHANGED', 'PLANNED']);

/** Errors: INVALID (a file cannot be read); those of the graph; BROKER_REJECTED (not all planned or applied). */
async function importAccess(
  cli: Cli,
  applies: boolean,
  brokerId: string,
  file: string,
  options: ImportOptions,
): Promise<void> {
  const { mosquittoFile, deleteOthers = false, setPasswords = false, passwords } = options;
  if (file === STANDARD_INPUT && passwords === STANDARD_INPUT) {
    throw new ServiceError('INVALID', 'The document and the passwords cannot both come from standard input');
  }
  const text = await readText(cli, file);
  const input = {
    brokerId,
    ...(mosquittoFile ? { mosquittoFile: text } : sourceIn(file, text)),
    deleteOthers,
    setPasswords,
    passwords: passwords === undefined ? [] : await readPasswords(cli, passwords),
  };
  const { report } = await runOnGraph<{ report: ShownImport }>(cli, applies ? APPLY : PLAN, { input });
  print(cli, options, report, importText(report, applies));
  const failed = report.changes.filter(({ outcome }) => !DONE.has(outcome)).length;
  if (failed === 0) return;
  throw new ServiceError('BROKER_REJECTED', `${failed} of ${report.changes.length} changes are not confirmed`);
}

/** Reads a file of Mosquitto as such: it has the default access by this name, and no `format`. */
function sourceIn(file: string, text: string): { readonly document: unknown } | { readonly mosquittoFile: string } {
  const document = parseJson(file, text);
  const isOfMosquitto = isFields(document) && !('format' in document) && 'defaultACLAccess' in document;
  return isOfMosquitto ? { mosquittoFile: text } : { document };
}

interface ExplainOptions extends JsonOption {
  readonly username?: string;
  readonly clientId?: string;
  readonly withRole?: readonly string[];
  readonly withoutRole?: readonly string[];
  readonly exitCode?: boolean;
}

const EXPLAIN = `query ($brokerId: ID!, $username: String, $anonymous: Boolean, $clientId: String, $action: AccessAction!,
    $topic: String!, $withRoles: [HeldRoleInput!], $withoutRoles: [String!]) {
  explanation: explainAccess(brokerId: $brokerId, username: $username, anonymous: $anonymous, clientId: $clientId,
      action: $action, topic: $topic, withRoles: $withRoles, withoutRoles: $withoutRoles) {
    allowed reason conditional elsewhere remarks lookedAtTotal
    lookedAt { roleName groupName priority verdict rule { aclType topic priority allow } }
  }
}`;

async function explainAccess(
  cli: Cli,
  brokerId: string,
  action: string,
  topic: string,
  options: ExplainOptions,
): Promise<void> {
  const { username, clientId, withRole = [], withoutRole = [], exitCode = false } = options;
  const { explanation } = await runOnGraph<{ explanation: ShownExplanation }>(cli, EXPLAIN, {
    brokerId,
    ...(username === undefined ? { anonymous: true } : { username }),
    clientId,
    action: action.toUpperCase(),
    topic,
    withRoles: withRole.map((roleName) => ({ roleName })),
    withoutRoles: withoutRole,
  });
  print(cli, options, explanation, explanationText(explanation));
  if (exitCode && !explanation.allowed) throw new NegativeResult();
}
