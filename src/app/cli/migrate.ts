import type { Command } from 'commander';
import type { Config } from '../../platform/config/config.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Transfer } from '../transfer/to-postgresql.ts';
import { STANDARD_INPUT } from './files.ts';
import { type Cli, type JsonOption, print, type ToAction, table, textOfLines } from './terminal.ts';

interface MigrateOptions extends JsonOption {
  readonly to?: string;
  readonly dryRun?: boolean;
}

export function addMigrateCommand(program: Command, toAction: ToAction): void {
  program
    .command('migrate')
    .description(
      'Migrate the database to this version and exit. `serve` does it as well. With --to: copy the SQLite database of the data folder, the stored messages of streams and the history of brokers to an empty PostgreSQL database, while no service runs.',
    )
    .option('--to <url>', 'postgresql://…; - reads it from standard input, because users of a machine see arguments')
    .option('--dry-run', 'with --to: only print what would be copied')
    .option('--json', 'print JSON')
    .action(toAction(migrate));
}

async function migrate(cli: Cli, options: MigrateOptions): Promise<void> {
  const { to, dryRun = false } = options;
  if (to !== undefined) await migrateTo(cli, to, dryRun, options);
  else if (dryRun) throw new ServiceError('INVALID', '--dry-run requires --to');
  else await migrateInPlace(cli, options);
}

async function migrateInPlace(cli: Cli, options: JsonOption): Promise<void> {
  const { createLog } = await import('../../platform/log.ts');
  const { openStorage } = await import('../../platform/storage/storage.ts');
  const { dataDir, databaseUrl } = cli.config;
  const log = await createLog(cli.config, cli.isTerminal);
  const { engine, migrated, close } = await openStorage({ dataDir, databaseUrl, log });
  await close();
  const text = migrated.length === 0 ? 'The database is up to date.\n' : `Applied ${migrated.join(', ')}.\n`;
  print(cli, options, { engine, applied: migrated }, text);
}

async function migrateTo(cli: Cli, to: string, isDryRun: boolean, options: JsonOption): Promise<void> {
  const { config, stop: signal, isTerminal, readInput } = cli;
  if (config.databaseUrl !== undefined) {
    const text = 'DATABASE_URL is set: a service with this setting uses PostgreSQL already. Unset it for this command';
    throw new ServiceError('INVALID', text);
  }
  const targetUrl = to === STANDARD_INPUT ? (await readInput('URL of the PostgreSQL database')).trim() : to;
  const { createLog } = await import('../../platform/log.ts');
  const { transferToPostgresql } = await import('../transfer/to-postgresql.ts');
  const log = await createLog(config, isTerminal);
  const { dataDir } = config;
  const done = await transferToPostgresql({ dataDir, targetUrl, isDryRun, signal, log }).catch((error: unknown) => {
    if (signal.aborted) throw new ServiceError('INTERNAL_ERROR', 'Stopped before all was copied. Repeat the command');
    throw onCommandLine(error);
  });
  print(cli, options, { isDryRun, ...done }, textOf(done, config, isDryRun));
}

const onCommandLine = (error: unknown): unknown =>
  error instanceof ServiceError && error.code === 'INVALID'
    ? new ServiceError('INVALID', error.message.replace(/^DATABASE_URL\b/, '--to'), { cause: error })
    : error;

function textOf(done: Transfer, { dataDir, secretKey }: Config, isDryRun: boolean): string {
  const { tables, databaseBytes, messages, messageBytes, historyRows, messageFiles } = done;
  const rows = tables.map(({ table: name, rows: count }) => [name, String(count)]);
  const lines = [
    `The database has ${megabytes(databaseBytes)}.`,
    `Streams have ${messages} stored messages, ${megabytes(messageBytes)}.`,
    '',
  ];
  if (isDryRun) return `${table([['TABLE', 'ROWS'], ...rows])}\n${textOfLines([...lines, 'Nothing was copied.'])}`;
  lines.push(
    `The history of brokers has ${historyRows} rows.`,
    'All was copied. Next: set DATABASE_URL to this database, and start the service with the same DATA_DIR',
    `${dataDir}: it contains ${secretKey === undefined ? 'the key of stored secrets, ' : ''}the brokers that this service runs and the queues of bridges.`,
    '',
    'To return to SQLite, unset DATABASE_URL. What changed since is then lost.',
  );
  if (messageFiles !== null) {
    lines.push(`The files of stored messages are now ${messageFiles}: to return, rename the folder to "streams".`);
  }
  return `${table([['TABLE', 'ROWS'], ...rows])}\n${textOfLines(lines)}`;
}

const megabytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MB`;
