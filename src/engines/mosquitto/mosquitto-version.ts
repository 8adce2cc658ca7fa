import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isAtLeast, mosquittoVersionOf } from '../../protocol/control/mosquitto-version.ts';
import { isProgram, type MosquittoProgram } from './mosquitto-program.ts';

const RUN_MS = 5_000;
const MAX_OUTPUT_BYTES = 65_536;
/** The interface for plugins has it since 2.1. A plugin of 2.0 contains no version. */
const SYMBOL_SINCE_2_1 = 'mosquitto_plugin_set_info';

/** Whether a version, for example `2.0.11`, is 2.1 or newer. */
export const isSince21 = (version: string): boolean =>
  isAtLeast(mosquittoVersionOf(`mosquitto version ${version}`), [2, 1, 0]);

/**
 * Returns the version of the program, for example `2.0.11`. Errors: the program prints no version within 5 seconds, or
 * the plugin belongs to another version. Mosquitto would load it, and would then decide and report as that version.
 */
export async function versionOf({ binary, plugin }: MosquittoProgram): Promise<string> {
  const version = await printedVersion(binary);
  if (version === null) throw new Error(`${binary} does not print a version of Mosquitto`);
  const owner = ownersOf(plugin).find(isProgram);
  const ofOwner = owner === undefined ? null : await printedVersion(owner);
  const isOf21 = (await readFile(plugin)).includes(SYMBOL_SINCE_2_1);
  const isSame = ofOwner === null ? isOf21 === isSince21(version) : ofOwner === version;
  if (isSame) return version;
  const other = ofOwner ?? (isOf21 ? '2.1 or newer' : '2.0');
  throw new Error(
    `${binary} is Mosquitto ${version}, but ${plugin} is a plugin of Mosquitto ${other}: name the plugin of this version by MOSQUITTO_DYNSEC_PLUGIN`,
  );
}

/** Returns why the program refuses a configuration; `null` if it accepts it, or cannot test it because it is 2.0. */
export async function configurationRefusal(binary: string, version: string, file: string): Promise<string | null> {
  if (!isSince21(version)) return null;
  const { isSuccess, output } = await run(binary, ['-c', file, '--test-config']);
  if (isSuccess) return null;
  const errors = output.split('\n').map((line) => line.replace(/^\d+: /, ''));
  return errors.filter((line) => line.startsWith('Error')).join(' ') || 'it gives no reason';
}

async function printedVersion(binary: string): Promise<string | null> {
  // The exit code of `-h` is 3 in 2.0.11 and 0 in newer versions, and 2.0.11 does not have `--version`.
  const { output } = await run(binary, ['-h']);
  return /^mosquitto version (\d+\.\d+\.\d+)/.exec(output)?.[1] ?? null;
}

/** The programs in the folders that a plugin in `lib` or `lib/<architecture>` was installed with. */
const ownersOf = (plugin: string): string[] =>
  ['..', '../..'].flatMap((up) => ['sbin', 'bin'].map((folder) => join(dirname(plugin), up, folder, 'mosquitto')));

/** Never rejects. `output` is that of both streams. */
function run(binary: string, args: readonly string[]): Promise<{ isSuccess: boolean; output: string }> {
  const limits = { env: {}, timeout: RUN_MS, maxBuffer: MAX_OUTPUT_BYTES, killSignal: 'SIGKILL' } as const;
  return new Promise((resolve) => {
    execFile(binary, args, limits, (error, stdout, stderr) => {
      resolve({ isSuccess: error === null, output: `${stdout}${stderr}` });
    });
  });
}
