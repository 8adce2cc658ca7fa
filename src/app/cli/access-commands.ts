import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Config } from '../../platform/config/config.ts';
import type { ExplainOptions, ImportOptions } from './access.ts';
import type { Terminal } from './terminal.ts';

const ACTIONS = ['publish', 'receive', 'subscribe', 'unsubscribe'];

/** Commands `brokergraph access …`. Their modules are loaded when they run. */
export function addAccessCommands(program: Command, config: () => Config, terminal: Terminal): void {
  const json = () => new Option('--json', 'print JSON');
  const access = program
    .command('access')
    .description(
      'Export and import the access control of a broker (dynamic security). Works with and without a running service.',
    );
  access
    .command('export <brokerId>')
    .description('Write the complete access control as one JSON document without passwords, in a stable order.')
    .option('--output <file>', 'write to a file')
    .addOption(new Option('--json', 'no effect: the document always is JSON'))
    .action(async (id, options) => (await import('./access.ts')).exportAccess(config(), terminal, id, options));

  const importing = (name: string, description: string) =>
    access
      .command(`${name} <brokerId>`)
      .argument('<file>', 'a document that `export` wrote; - reads standard input')
      .description(description)
      .option('--mosquitto-file', 'the file is a dynamic-security.json of Mosquitto')
      .option('--delete-others', 'delete clients, groups and roles that are not in the file')
      .option(
        '--passwords <file>',
        'JSON object with passwords of created clients, by user name; - reads standard input',
      )
      .option('--set-passwords', 'also set the passwords of existing clients, at every call; disconnects them')
      .addOption(json());
  importing(
    'plan',
    'Print the commands of `apply`, the clients that they disconnect and the accounts without a password. Sends nothing.',
  ).action(async (id: string, file: string, options: ImportOptions) =>
    (await import('./access.ts')).planAccess(config(), terminal, id, file, options),
  );
  importing(
    'apply',
    'Change the access control of the broker to that of the file. Repeating it changes nothing, except for --set-passwords.',
  ).action(async (id: string, file: string, options: ImportOptions) =>
    (await import('./access.ts')).applyAccess(config(), terminal, id, file, options),
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
    .addOption(json())
    .action(async (id: string, action: string, topic: string, options: ExplainOptions) =>
      (await import('./access.ts')).explainAccess(config(), terminal, id, action, topic, options),
    );
}

function accessAction(text: string): string {
  if (ACTIONS.includes(text.toLowerCase())) return text;
  throw new InvalidArgumentError(`It must be one of ${ACTIONS.join(', ')}.`);
}
