import { type Command, Option } from 'commander';
import type { Config } from '../../platform/config/config.ts';
import type { RotateOptions } from './secrets.ts';
import type { Terminal } from './terminal.ts';

/** Commands `brokergraph secrets …`. Their modules are loaded when they run. */
export function addSecretsCommands(program: Command, config: () => Config, terminal: Terminal): void {
  program
    .command('secrets')
    .description('Stored secrets, such as passwords of brokers. Works with and without a running service.')
    .command('rotate')
    .description(
      'Seal all stored secrets with the current key: SECRET_KEY, with the previous key in SECRET_KEY_PREVIOUS, or a new secret.key of the data folder. Repeat it if it was interrupted.',
    )
    .option('--discard-unreadable', 'if the key is lost: delete secrets that no key opens, except second factors')
    .addOption(new Option('--json', 'print JSON'))
    .action(async (options: RotateOptions) =>
      (await import('./secrets.ts')).rotateSecrets(config(), terminal, options),
    );
}
