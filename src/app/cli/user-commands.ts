import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Config } from '../../platform/config/config.ts';
import type { Terminal } from './terminal.ts';
import type { CreateOptions, DeleteOptions, ResetOptions } from './users.ts';

/** Commands `brokergraph user …`. Their modules are loaded when they run. */
export function addUserCommands(program: Command, config: () => Config, terminal: Terminal): void {
  const json = () => new Option('--json', 'print JSON');
  // The password is no argument, because all users of a machine can read arguments.
  const askPassword = () =>
    new Option(
      '--ask-password',
      'prompt for the password, or read the first line of standard input if it is not a terminal; at least 8 characters',
    );
  const user = program.command('user').description('Users who may sign in. Works with and without a running service.');
  user
    .command('create <email>')
    .description('Create a user. Without --ask-password, a password is generated and shown only once.')
    .option('--name <name>', 'display name (default: first and last name, or the address up to the @)')
    .option('--first-name <name>', 'first part of the default name')
    .option('--last-name <name>', 'last part of the default name')
    .option('--root', 'root administrator, with all permissions')
    .option('--verified', 'the address is known to belong to the user')
    .addOption(
      new Option(
        '--sso-type <type>',
        'identity provider of the user, who has no password here: sso (OpenID provider) or ldap',
      ).argParser(provider),
    )
    .addOption(askPassword().conflicts('ssoType'))
    .addOption(json())
    .action(async (email: string, options: CreateOptions) =>
      (await import('./users.ts')).createUser(config(), terminal, email, options),
    );
  user
    .command('list')
    .description('List all users.')
    .addOption(json())
    .action(async (options) => (await import('./users.ts')).listUsers(config(), terminal, options));
  user
    .command('show <email>')
    .description('Show a user with the open sessions.')
    .addOption(json())
    .action(async (email: string, options) =>
      (await import('./users.ts')).showUser(config(), terminal, email, options),
    );
  user
    .command('delete <email>')
    .description('Delete a user and the sessions. The last root administrator who can sign in is not deleted.')
    .option('--hand-over-to <email>', 'new owner of the projects and of organisations without another owner')
    .addOption(json())
    .action(async (email: string, options: DeleteOptions) =>
      (await import('./users.ts')).deleteUser(config(), terminal, email, options),
    );
  user
    .command('reset-password <email>')
    .description(
      'Set a new password and close the user’s sessions. Without --ask-password, a password is generated and shown only once.',
    )
    .addOption(askPassword())
    .addOption(json())
    .action(async (email: string, options: ResetOptions) =>
      (await import('./users.ts')).resetPassword(config(), terminal, email, options),
    );
  user
    .command('reset-second-factor <email>')
    .description(
      'Remove a lost second factor, so that the password alone is sufficient, and close the user’s sessions.',
    )
    .addOption(json())
    .action(async (email: string, options) =>
      (await import('./users.ts')).resetSecondFactor(config(), terminal, email, options),
    );
  user
    .command('unlock <email>')
    .description('Reset the waiting times of a user after failed log-ins, in the running service.')
    .addOption(json())
    .action(async (email: string, options) =>
      (await import('./users.ts')).unlockUser(config(), terminal, email, options),
    );
}

function provider(text: string): string {
  if (/^(sso|ldap)$/i.test(text)) return text.toUpperCase();
  throw new InvalidArgumentError('It must be sso or ldap.');
}
