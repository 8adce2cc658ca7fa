import { type Command, Option } from 'commander';
import type { Config } from '../../platform/config/config.ts';
import type { RotateOptions } from './secrets.ts';
import type { Terminal } from './terminal.ts';

/** `brokergraph secrets …`; what it does is loaded when it is called. */
export function addSecretsCommands(program: Command, config: () => Config, terminal: Terminal): void {
  program
    .command('secrets')
    .description('Stored secrets, such as passwords of brokers. Works beside a running service and without one.')
    .command('rotate')
    .description(
      'Seal all stored secrets with the current key: SECRET_KEY, with the key before in SECRET_KEY_PREVIOUS, or a new secret.key of the data folder. Repeat it if it was interrupted.',
    )
    .option('--discard-unreadable', 'the key is lost: delete what no key opens, but for second factors')
    .addOption(new Option('--json', 'answer as JSON'))
    .action(async (options: RotateOptions) =>
      (await import('./secrets.ts')).rotateSecrets(config(), terminal, options),
    );
}
