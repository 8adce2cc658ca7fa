import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Config } from '../../platform/config/config.ts';
import type { ExplainOptions, ImportOptions } from './access.ts';
import type { Terminal } from './terminal.ts';

const ACTIONS = ['publish', 'receive', 'subscribe', 'unsubscribe'];

/** `brokergraph access …`; what it does is loaded when it is called. */
export function addAccessCommands(program: Command, config: () => Config, terminal: Terminal): void {
  const json = () => new Option('--json', 'answer as JSON');
  const access = program
    .command('access')
    .description(
      'Access control of a broker (dynamic security) as a file. Works beside a running service and without one.',
    );
  access
    .command('export <brokerId>')
    .description('Write the whole access control as one JSON document, without passwords; the same for the same.')
    .option('--output <file>', 'write to a file')
    .addOption(new Option('--json', 'the document always is JSON; taken for uniformity'))
    .action(async (id, options) => (await import('./access.ts')).exportAccess(config(), terminal, id, options));

  const importing = (name: string, description: string) =>
    access
      .command(`${name} <brokerId>`)
      .argument('<file>', 'a document that `export` wrote; - reads standard input')
      .description(description)
      .option('--mosquitto-file', 'the file is a dynamic-security.json as Mosquitto keeps it')
      .option('--delete-others', 'delete clients, groups and roles that the file does not name')
      .option(
        '--passwords <file>',
        'JSON object with the passwords of clients that are made, by user name; - reads standard input',
      )
      .option('--set-passwords', 'set the given passwords of clients that are there too, each time; disconnects them')
      .addOption(json());
  importing(
    'plan',
    'Tell what `apply` would send, whom that disconnects and who needs a password; sends nothing.',
  ).action(async (id: string, file: string, options: ImportOptions) =>
    (await import('./access.ts')).planAccess(config(), terminal, id, file, options),
  );
  importing(
    'apply',
    'Make the broker have what the file says. Doing it again changes nothing, but for --set-passwords.',
  ).action(async (id: string, file: string, options: ImportOptions) =>
    (await import('./access.ts')).applyAccess(config(), terminal, id, file, options),
  );

  access
    .command('explain <brokerId>')
    .argument('<action>', ACTIONS.join(', '), accessAction)
    .argument('<topic>', 'a topic; with subscribe and unsubscribe a filter')
    .description('Tell whether a client may do something, and which rule decides.')
    .option('--username <name>', 'account; without it: somebody who connects without user name')
    .option('--client-id <id>', 'client id; without it rules with %c cannot be decided')
    .option('--with-role <name...>', 'as if it held these roles too')
    .option('--without-role <name...>', 'as if it held none of these roles')
    .option('--exit-code', 'end with 1 when it is denied, for scripts')
    .addOption(json())
    .action(async (id: string, action: string, topic: string, options: ExplainOptions) =>
      (await import('./access.ts')).explainAccess(config(), terminal, id, action, topic, options),
    );
}

function accessAction(text: string): string {
  if (ACTIONS.includes(text.toLowerCase())) return text;
  throw new InvalidArgumentError(`It is ${ACTIONS.join(', ')}.`);
}
