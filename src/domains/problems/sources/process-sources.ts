import { within } from '../../../platform/scheduling/within.ts';
import { type Statement, statement } from '../../../protocol/problems/problem-statements.ts';
import type { ServiceProcess } from '../../processes/process-service.ts';
import type { ProblemFact } from '../model/problem-fact.ts';
import { certainAfterMs, isDue, type ProblemKind, readEveryMs } from '../model/problem-kinds.ts';
import type { ProcessPlace, ProcessSource, ServiceSource } from '../model/problem-source.ts';

const factOf = (kind: ProblemKind, host: string, stated: Statement): ProblemFact => ({
  kind,
  subjectId: null,
  subjectName: host,
  statements: [stated],
});

interface DatabaseSourceOptions {
  /** `null` on SQLite, which is in this process. */
  readonly speed: { readonly isSlow: boolean } | null;
  /** Errors: those of the database. */
  readonly ping: () => Promise<unknown>;
}

/** The PostgreSQL of this process. Problems that cannot be written are stored when the database responds again. */
export function databaseSource({ speed, ping }: DatabaseSourceOptions): ProcessSource {
  let pingedAt = Number.NEGATIVE_INFINITY;
  let isAway = false;
  let pending: Promise<unknown> | null = null;
  return {
    kinds: ['DATABASE_SLOW', 'DATABASE_AWAY'],
    refresh: async () => {
      if (speed === null || !isDue(readEveryMs('DATABASE_AWAY'), pingedAt)) return;
      pingedAt = performance.now();
      // One statement at a time waits for a database that does not respond.
      pending ??= ping().finally(() => {
        pending = null;
      });
      isAway = await within(
        certainAfterMs('DATABASE_AWAY'),
        pending,
        () => new Error('The database does not respond'),
      ).then(
        () => false,
        () => true,
      );
    },
    ofProcess: (host) => [
      ...(isAway ? [factOf('DATABASE_AWAY', host, statement('DATABASE_AWAY', { host }))] : []),
      ...(speed?.isSlow ? [factOf('DATABASE_SLOW', host, statement('DATABASE_SLOW', { host }))] : []),
    ],
  };
}

interface OwnSourceOptions {
  /** `diskFault`: why the database cannot be written; `null` if it can. `look` tries to write. */
  readonly disk: {
    readonly space: 'ENOUGH' | 'LITTLE' | 'TOO_LITTLE';
    readonly diskFault: string | null;
    look(): Promise<void>;
  };
  readonly minFreeMb: number;
  readonly audit: { readonly isFailing: boolean; readonly waiting: number };
  readonly isFull: () => boolean;
  readonly maxLinks: number;
}

const MEND_DISK = 'Free space on the disk of the database, or mend the disk. Nothing can be changed until then.';

export const ownSource = ({ disk, minFreeMb, audit, isFull, maxLinks }: OwnSourceOptions): ProcessSource => ({
  kinds: ['DISK_LOW', 'AUDIT_WAITING', 'LINK_LIMIT'],
  refresh: () => disk.look(),
  ofProcess: (host) => {
    const facts: ProblemFact[] = [];
    const { space, diskFault } = disk;
    if (space === 'TOO_LITTLE') {
      const stated = statement('DISK_FULL', { host, megabytes: minFreeMb });
      facts.push({ ...factOf('DISK_LOW', host, stated), severity: 'CRITICAL' });
    } else if (diskFault !== null) {
      const stated = statement('DISK_NOT_WRITABLE', { host, error: diskFault });
      facts.push({ ...factOf('DISK_LOW', host, stated), severity: 'CRITICAL', whatWouldHelp: MEND_DISK });
    } else if (space === 'LITTLE') {
      facts.push(factOf('DISK_LOW', host, statement('DISK_LOW', { host, megabytes: 2 * minFreeMb })));
    }
    if (audit.isFailing) {
      facts.push(factOf('AUDIT_WAITING', host, statement('AUDIT_WAITS', { host, count: audit.waiting })));
    }
    if (isFull()) {
      facts.push(factOf('LINK_LIMIT', host, statement('LINKS_USED', { host, count: maxLinks })));
    }
    return facts;
  },
});

interface ProcessesSourceOptions {
  /** Errors: those of the database. */
  readonly list: () => Promise<readonly ServiceProcess[]>;
  /** See ProcessTable. */
  readonly isCalm: () => boolean;
}

/** The other processes on the database. `alive`: those that are there; `null` if they are not known. */
export function processesSource({ list, isCalm }: ProcessesSourceOptions): ServiceSource & {
  readonly alive: () => readonly ProcessPlace[] | null;
} {
  let known: readonly ServiceProcess[] | null = null;
  let readAt = Number.NEGATIVE_INFINITY;
  return {
    kinds: ['PROCESS_AWAY'],
    alive: () => known?.filter(({ isAlive }) => isAlive) ?? null,
    refresh: async () => {
      if (!isDue(readEveryMs('PROCESS_AWAY'), readAt)) return;
      readAt = performance.now();
      const listed = await list().catch(() => null);
      // After an outage of the database, processes are on their way back, this one too.
      const isKnown = isCalm() && listed?.some(({ isSelf, isAlive }) => isSelf && isAlive);
      known = isKnown ? listed : null;
    },
    ofService: () =>
      known === null
        ? null
        : known
            .filter(({ isAlive }) => !isAlive)
            .map(({ id, host, role }) => ({
              ...factOf('PROCESS_AWAY', host, statement('PROCESS_ENDED', { id, role, host })),
              part: id,
            })),
  };
}
