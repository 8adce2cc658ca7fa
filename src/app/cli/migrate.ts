import type { Config } from '../../platform/config/config.ts';
import { createLog } from '../../platform/log.ts';
import { openStorage } from '../../platform/storage/storage.ts';
import type { Terminal } from './terminal.ts';

export async function migrate(
  config: Config,
  { out, isTerminal }: Terminal,
  { json }: { json?: boolean },
): Promise<void> {
  const log = await createLog(config, isTerminal);
  const { engine, migrated, close } = await openStorage({
    dataDir: config.dataDir,
    databaseUrl: config.databaseUrl,
    log,
  });
  await close();
  if (json) out(`${JSON.stringify({ engine, applied: migrated })}\n`);
  else if (migrated.length === 0) out('The database is up to date.\n');
  else out(`Applied ${migrated.join(', ')}.\n`);
}
