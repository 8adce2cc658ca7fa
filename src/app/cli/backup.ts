import type { Command } from 'commander';
import { type Cli, type JsonOption, print, type ToAction, textOfLines } from './terminal.ts';

export function addBackupCommands(program: Command, toAction: ToAction): void {
  program
    .command('backup <folder>')
    .description(
      'Copy the database and the data folder to a new folder, with and without a running service. With PostgreSQL, pg_dump must be in PATH. The copy contains secrets, and the key that opens them unless SECRET_KEY is set: store it like a password.',
    )
    .option('--json', 'print JSON')
    .action(toAction(backUp));
  program
    .command('restore <folder>')
    .description(
      'Restore a copy that `backup` made to an empty data folder (DATA_DIR) and, with PostgreSQL, to an empty database (DATABASE_URL). With PostgreSQL, pg_restore must be in PATH.',
    )
    .option('--json', 'print JSON')
    .action(toAction(restore));
}

async function backUp(cli: Cli, backup: string, options: JsonOption): Promise<void> {
  const { createBackup } = await import('../backup/backup.ts');
  const { dataDir, databaseUrl, secretKey } = cli.config;
  const done = await createBackup({ dataDir, databaseUrl, backup, env: cli.env, log: await logOf(cli) });
  const { files, bytes, wasRunning } = done;
  const lines = [`${backup} has ${files} files, ${(bytes / 1_048_576).toFixed(1)} MB.`];
  if (wasRunning) {
    lines.push('The service was running: messages that brokers received since the command began may be missing.');
  }
  lines.push(
    secretKey === undefined
      ? 'It contains the key of stored secrets. Store it like a password.'
      : 'It does not contain SECRET_KEY, without which stored secrets cannot be read. Store the key elsewhere.',
  );
  print(cli, options, { folder: backup, ...done }, textOfLines(lines));
}

async function restore(cli: Cli, backup: string, options: JsonOption): Promise<void> {
  const { restoreBackup } = await import('../backup/restore.ts');
  const { dataDir, databaseUrl } = cli.config;
  const { files, version, createdAt, engine } = await restoreBackup({
    dataDir,
    databaseUrl,
    backup,
    env: cli.env,
    log: await logOf(cli),
  });
  const lines = [
    `${dataDir} has the ${files.length} files of ${createdAt}, from version ${version}.`,
    'Next: start the service. The one that was backed up must not run at the same time: both would use the same brokers.',
  ];
  print(cli, options, { files: files.length, version, createdAt, engine }, textOfLines(lines));
}

async function logOf({ config, isTerminal }: Cli) {
  const { createLog } = await import('../../platform/log.ts');
  return createLog(config, isTerminal);
}
