import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Config } from '../../platform/config/config.ts';
import type { Terminal } from './terminal.ts';
import type { CreateOptions, DeleteOptions, ResetOptions } from './users.ts';

/** `brokergraph user …`; what it does is loaded when it is called. */
export function addUserCommands(program: Command, config: () => Config, terminal: Terminal): void {
  const json = () => new Option('--json', 'answer as JSON');
  // Never as an argument: those are shown to everybody on the machine.
  const askPassword = () =>
    new Option(
      '--ask-password',
      'ask for the password, or read the first line of standard input where nobody is at the terminal; at least 8 characters',
    );
  const user = program
    .command('user')
    .description('People who may sign in. Works beside a running service and without one.');
  user
    .command('create <email>')
    .description('Add a person; without --ask-password a password is generated and shown once.')
    .option('--name <name>', 'name to show; without it first and last name, else what the address begins with')
    .option('--first-name <name>', 'becomes part of the name')
    .option('--last-name <name>', 'becomes part of the name')
    .option('--root', 'root administrator: may do everything')
    .option('--verified', 'somebody has made sure that the address is the person’s')
    .addOption(
      new Option(
        '--sso-type <type>',
        'signs in elsewhere, and has no password here: sso (OpenID provider) or ldap',
      ).argParser(provider),
    )
    .addOption(askPassword().conflicts('ssoType'))
    .addOption(json())
    .action(async (email: string, options: CreateOptions) =>
      (await import('./users.ts')).createUser(config(), terminal, email, options),
    );
  user
    .command('list')
    .description('All people.')
    .addOption(json())
    .action(async (options) => (await import('./users.ts')).listUsers(config(), terminal, options));
  user
    .command('show <email>')
    .description('What is known of a person, with the open sessions.')
    .addOption(json())
    .action(async (email: string, options) =>
      (await import('./users.ts')).showUser(config(), terminal, email, options),
    );
  user
    .command('delete <email>')
    .description('Remove a person, and end the sessions. Not the last root administrator who can sign in.')
    .option('--hand-over-to <email>', 'who gets the projects, and organisations that would have no owner')
    .addOption(json())
    .action(async (email: string, options: DeleteOptions) =>
      (await import('./users.ts')).deleteUser(config(), terminal, email, options),
    );
  user
    .command('reset-password <email>')
    .description(
      'Set a new password and end the person’s sessions; without --ask-password one is generated and shown once.',
    )
    .addOption(askPassword())
    .addOption(json())
    .action(async (email: string, options: ResetOptions) =>
      (await import('./users.ts')).resetPassword(config(), terminal, email, options),
    );
  user
    .command('reset-second-factor <email>')
    .description('For somebody who has lost it: the password alone signs in, and the person’s sessions end.')
    .addOption(json())
    .action(async (email: string, options) =>
      (await import('./users.ts')).resetSecondFactor(config(), terminal, email, options),
    );
  user
    .command('unlock <email>')
    .description('End the waits of a person after failed log-ins, in the running service.')
    .addOption(json())
    .action(async (email: string, options) =>
      (await import('./users.ts')).unlockUser(config(), terminal, email, options),
    );
}

function provider(text: string): string {
  if (/^(sso|ldap)$/i.test(text)) return text.toUpperCase();
  throw new InvalidArgumentError('It is sso or ldap.');
}
