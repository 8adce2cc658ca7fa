import type { SecretRotation } from '../../domains/secrets/secret-rotation.ts';
import type { Config } from '../../platform/config/config.ts';
import { runOnGraph } from './graph.ts';
import { NegativeResult, shown, type Terminal } from './terminal.ts';

export interface RotateOptions {
  readonly discardUnreadable?: boolean;
  readonly json?: boolean;
}

const ROTATE = `mutation ($input: RotateSecretsInput) {
  rotateSecrets(input: $input) { resealed discarded unreadableCount unreadable { context reason } removable }
}`;

/** Errors: NegativeResult while a secret cannot be opened or the previous key is still required. */
export async function rotateSecrets(
  config: Config,
  { out }: Terminal,
  { discardUnreadable = false, json }: RotateOptions,
): Promise<void> {
  const { rotateSecrets: done } = await runOnGraph<{ readonly rotateSecrets: SecretRotation }>(config, ROTATE, {
    input: { discardUnreadable },
  });
  out(json ? `${JSON.stringify(done)}\n` : textOf(done, discardUnreadable));
  if (done.unreadableCount > 0 || (done.removable === null && !discardUnreadable)) throw new NegativeResult();
}

function textOf(done: SecretRotation, isDiscarding: boolean): string {
  const { resealed, discarded, unreadable, unreadableCount, removable } = done;
  const lines = [
    `${resealed} stored secrets were sealed again with the current key.`,
    ...(isDiscarding ? [`${discarded} secrets that no key opens were deleted.`] : []),
    ...(unreadableCount > 0 ? [`${unreadableCount} secrets cannot be opened with any key:`] : []),
    ...unreadable.map(({ reason }) => `  ${shown(reason)}`),
    ...(unreadableCount > unreadable.length ? [`  and ${unreadableCount - unreadable.length} more`] : []),
    ...(removable === null ? [] : [removalOf(removable)]),
    ...(removable === null && !isDiscarding
      ? ['Other processes still use the previous key: set both keys for all processes, and repeat the command.']
      : []),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

const removalOf = (name: string): string =>
  `The previous key is no longer required: ${shown(name)} may be removed. Keep it with older backups.`;
