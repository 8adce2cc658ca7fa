import type { AuditEntry, Prisma } from '../../../generated/sqlite/client.ts';
import { runInSlices, type SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { findEntries } from '../../audit/audit-search.ts';
import { operationsOf } from '../marks/mark-kinds.ts';
import { changesIn } from './recorded-changes.ts';

/** An entry has at most 16 kB, so these take less than a second. */
const MAX_ENTRIES = 1_000;
/** Entries before the time of which the newest with a change is searched. */
const MAX_EARLIER = 50;
const PASSWORDS = 'setAccountPassword';
/** A new password changes an account, and no access. */
const OPERATIONS = operationsOf(['ACCESS']).filter((operation) => operation !== PASSWORDS);
/** Changes of which nodes a cluster has, which may change the access control of a node. */
const OF_CLUSTERS = ['createCluster', 'joinCluster', 'leaveCluster', 'deleteCluster', 'repairClusterNode'];

export interface AccessChanges {
  /** The newest first. */
  readonly changes: readonly AuditEntry[];
  /** The last change before them. */
  readonly previous: AuditEntry | null;
  /** Earlier changes are not known. */
  readonly knownSince: Date;
  readonly usernames: ReadonlySet<string>;
  readonly groupNames: ReadonlySet<string>;
  readonly roleNames: ReadonlySet<string>;
  /** Whether the access of every client may have been different. */
  readonly concernsAll: boolean;
  /** The last change of each object, by `objectKey`. */
  readonly lastChanges: ReadonlyMap<string, AuditEntry>;
}

const KEYS = ['username', 'groupName', 'roleName'] as const;
type ObjectKind = (typeof KEYS)[number];

export const objectKey = (kind: ObjectKind, name: string): string => `${kind} ${name}`;

interface ChangedBroker {
  readonly id: string;
  readonly projectId: string;
  readonly createdAt: string;
  /** The cluster of the broker and its nodes, which have the same access control. */
  readonly together: readonly string[];
}

/** What this service changed in the access control of a broker since a time, as far as the audit records it. */
export async function readAccessChanges(db: Database, broker: ChangedBroker, since: Date): Promise<AccessChanges> {
  const named = { contains: broker.id };
  const ofBroker = { brokerId: { in: [broker.id, ...broker.together] } };
  const result = { in: ['DONE', 'UNKNOWN'] } satisfies Prisma.AuditEntryWhereInput['result'];
  const where: Prisma.AuditEntryWhereInput = {
    result,
    OR: [
      { ...ofBroker, operation: { in: OPERATIONS } },
      { projectId: broker.projectId, operation: { in: OF_CLUSTERS }, OR: [{ before: named }, { after: named }] },
      { projectId: broker.projectId, operation: 'deleteClusters' },
    ],
  };
  const entries = await findEntries(db, { AND: [where, { at: { gte: since } }] }, { take: MAX_ENTRIES });
  const ofPasswords = { ...ofBroker, operation: PASSWORDS, result, at: { gte: since } };
  const passwords = await findEntries(db, ofPasswords, { take: MAX_ENTRIES });
  const earlier = await findEntries(db, { AND: [where, { at: { lt: since } }] }, { take: MAX_EARLIER });
  const oldest = await db.auditEntry.findFirst({ orderBy: { sequence: 'asc' }, select: { at: true } });
  const limits = [entries, passwords].map((read) => (read.length === MAX_ENTRIES ? read.at(-1)?.at : null));
  const known = [oldest?.at ?? new Date(), new Date(broker.createdAt), ...limits.map((at) => at ?? new Date(0))];
  return {
    ...(await runInSlices(namesIn(entries, passwords))),
    previous: earlier.find((entry) => isChange(entry)) ?? null,
    knownSince: new Date(Math.max(...known.map(Number))),
  };
}

function isChange(entry: AuditEntry): boolean {
  const { changes, isWhole } = changesIn(entry);
  return changes.length > 0 || !isWhole;
}

/** A change names the object that it changes first. What it gives to that object is not changed itself. */
function* namesIn(
  entries: readonly AuditEntry[],
  passwords: readonly AuditEntry[],
): SlicedTask<Omit<AccessChanges, 'previous' | 'knownSince'>> {
  const found = { username: new Set<string>(), groupName: new Set<string>(), roleName: new Set<string>() };
  const made: AuditEntry[] = [];
  const lastChanges = new Map<string, AuditEntry>();
  let concernsAll = false;
  for (const entry of entries) {
    const { changes, isWhole } = changesIn(entry);
    if (changes.length > 0 || !isWhole) made.push(entry);
    concernsAll ||= !isWhole;
    for (const [mutation, change] of changes) {
      const key = KEYS.find((one) => typeof change[one] === 'string');
      if (key === undefined || mutation === 'setAnonymousGroup') concernsAll = true;
      else found[key].add(String(change[key]));
      const object = key && objectKey(key, String(change[key]));
      if (object !== undefined && !lastChanges.has(object)) lastChanges.set(object, entry);
    }
    yield;
  }
  for (const entry of passwords) {
    for (const [, { username }] of changesIn(entry).changes) {
      const object = objectKey('username', String(username));
      if (entry.sequence > (lastChanges.get(object)?.sequence ?? 0)) lastChanges.set(object, entry);
    }
    yield;
  }
  const { username: usernames, groupName: groupNames, roleName: roleNames } = found;
  return { changes: made, usernames, groupNames, roleNames, concernsAll, lastChanges };
}
