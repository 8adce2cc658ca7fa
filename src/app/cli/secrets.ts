import type { Command } from 'commander';
import type { SecretRotation } from '../../domains/secrets/secret-rotation.ts';
import { runOnGraph } from './graph.ts';
import { type Cli, type JsonOption, NegativeResult, print, shown, type ToAction, textOfLines } from './terminal.ts';

export function addSecretsCommands(program: Command, toAction: ToAction): void {
  program
    .command('secrets')
    .description('Stored secrets, such as passwords of brokers. Works with and without a running service.')
    .command('rotate')
    .description(
      'Seal all stored secrets with the current key: SECRET_KEY, with the previous key in SECRET_KEY_PREVIOUS, or a new secret.key of the data folder. Repeat it if it was interrupted.',
    )
    .option('--discard-unreadable', 'if the key is lost: delete secrets that no key opens, except second factors')
    .option('--json', 'print JSON')
    .action(toAction(rotateSecrets));
}

const ROTATE = `mutation ($input: RotateSecretsInput) {
  rotateSecrets(input: $input) { resealed discarded unreadableCount unreadable { context reason } removable }
}`;

/** Errors: NegativeResult while a secret cannot be opened or the previous key is still required. */
async function rotateSecrets(cli: Cli, options: JsonOption & { readonly discardUnreadable?: boolean }): Promise<void> {
  const { discardUnreadable = false } = options;
  const input = { discardUnreadable };
  const { rotateSecrets: done } = await runOnGraph<{ rotateSecrets: SecretRotation }>(cli, ROTATE, { input });
  print(cli, options, done, textOf(done, discardUnreadable));
  if (done.unreadableCount > 0 || (done.removable === null && !discardUnreadable)) throw new NegativeResult();
}

function textOf(done: SecretRotation, isDiscarding: boolean): string {
  const { resealed, discarded, unreadable, unreadableCount, removable } = done;
  const lines = [`${resealed} stored secrets were sealed again with the current key.`];
  if (isDiscarding) lines.push(`${discarded} secrets that no key opens were deleted.`);
  if (unreadableCount > 0) lines.push(`${unreadableCount} secrets cannot be opened with any key:`);
  lines.push(...unreadable.map(({ reason }) => `  ${shown(reason)}`));
  if (unreadableCount > unreadable.length) lines.push(`  and ${unreadableCount - unreadable.length} more`);
  if (removable !== null) {
    lines.push(
      `The previous key is no longer required: ${shown(removable)} may be removed. Keep it with older backups.`,
    );
  } else if (!isDiscarding) {
    lines.push('Other processes still use the previous key: set both keys for all processes, and repeat the command.');
  }
  return textOfLines(lines);
}
