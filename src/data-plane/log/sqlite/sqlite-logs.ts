import { join } from 'node:path';
import { carryOver } from '../log-source.ts';
import { LogStore } from '../log-store.ts';
import { LogWriter } from '../log-writer.ts';
import { formerSegments } from './former-segments.ts';
import { LOG_FILE } from './log-files.ts';
import { SqliteDisk } from './sqlite-disk.ts';

export interface SqliteLogsOptions {
  /** Created with the first message. No other process may use it. */
  readonly folder: string;
  /** Maximum size of the messages. It may be exceeded by one commit; the file is somewhat larger. */
  readonly maxBytes: number;
  /** Called once per disk failure or damaged file. `name`: of the log, or `null` if all are affected. */
  readonly onProblem: (name: string | null, reason: string) => void;
  /** Epoch milliseconds. Default: the system clock. */
  readonly now?: () => number;
}

/**
 * The logs of one broker in a folder. What an earlier version stored there is carried over first, and its files are
 * deleted. Errors: those of the disk.
 */
export async function openSqliteLogs(options: SqliteLogsOptions): Promise<LogStore> {
  const { folder, onProblem } = options;
  const former = formerSegments(folder, onProblem);
  if (former.length > 0) {
    const disk = new SqliteDisk({ path: join(folder, LOG_FILE), onDamage: (reason) => onProblem(null, reason) });
    try {
      const { owner } = disk.open('');
      for (const log of former) {
        await carryOver(log, { owner, write: (batches) => disk.write(batches) });
        log.remove();
      }
    } finally {
      disk.close();
    }
  }
  return sqliteLogs(options);
}

/** The same, without what an earlier version stored. */
export function sqliteLogs({ folder, maxBytes, onProblem, now }: SqliteLogsOptions): LogStore {
  const disk = new SqliteDisk({
    path: join(folder, LOG_FILE),
    now,
    onDamage: (reason) => {
      store?.lose();
      onProblem(null, reason);
    },
  });
  const writer = new LogWriter({ disk, onProblem: (reason) => reason !== null && onProblem(null, reason) });
  let store: LogStore | null = null;
  store = new LogStore({
    disk,
    opened: disk.open(''),
    writer,
    maxBytes,
    onProblem,
    onClose: async () => {
      await writer.close();
      disk.close();
    },
  });
  return store;
}
