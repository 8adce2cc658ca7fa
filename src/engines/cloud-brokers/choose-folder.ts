import type { Database } from '../../platform/storage/database.ts';
import type { Engine } from '../../protocol/hosting/broker-engine.ts';
import { listProcesses } from '../../protocol/hosting/placement/process-table.ts';

interface OwnProcess {
  readonly folderId: string;
  canRun(engine: Engine): boolean;
}

/**
 * The data folder for a new broker on PostgreSQL: of the processes that have the engine, the one with the fewest
 * brokers, or this process if it has as few. `null` if no process has the engine. A draining process gets none.
 */
export async function chooseFolder(db: Database, engine: Engine, own: OwnProcess): Promise<string | null> {
  const processes = await listProcesses(db);
  const folders = processes.flatMap(({ folderId, isAlive, isDraining, engines }) => {
    if (folderId === null || !isAlive || isDraining) return [];
    const isFit = folderId === own.folderId ? own.canRun(engine) : engines.includes(engine);
    return isFit ? [folderId] : [];
  });
  const where = { type: 'CLOUD', folderId: { in: folders } } as const;
  const groups = await db.broker.groupBy({ by: ['folderId'], where, _count: true });
  const counts = new Map(groups.map(({ folderId, _count: count }) => [folderId, count]));
  const countOf = (folderId: string) => counts.get(folderId) ?? 0;
  const isOwn = (folderId: string) => Number(folderId === own.folderId);
  const [least] = folders.sort((one, other) => countOf(one) - countOf(other) || isOwn(other) - isOwn(one));
  return least ?? null;
}
