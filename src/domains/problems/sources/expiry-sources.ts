import type { Changes } from '../../../platform/storage/changes/changes.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { type Statement, statement } from '../../../protocol/problems/problem-statements.ts';
import type { CertificateCache } from '../../certificates/certificate-cache.ts';
import { DAY_MS, daysLeft } from '../../certificates/days-left.ts';
import type { ProblemFact } from '../model/problem-fact.ts';
import { isDue, readEveryMs } from '../model/problem-kinds.ts';
import type { ProjectSource } from '../model/problem-source.ts';
import { THRESHOLDS } from '../model/problem-thresholds.ts';

const URGENT_DAYS = 3;

const expiryOf = (of: 'CERTIFICATE' | 'TOKEN', name: string, days: number): Statement =>
  days < 0
    ? statement(`${of}_EXPIRED`, { name })
    : days === 0
      ? statement(`${of}_EXPIRES_TODAY`, { name })
      : statement(`${of}_EXPIRES`, { name, days });

/** Certificates of projects, deployed or not. A deployed one is critical in its last days. */
export function certificateSource({
  certificates,
}: {
  readonly certificates: Pick<CertificateCache, 'ofProject'>;
}): ProjectSource {
  return {
    kinds: ['CERTIFICATE_EXPIRING'],
    ofProject: ({ id }, { certificateDays }) =>
      certificates.ofProject(id).flatMap((certificate): ProblemFact[] => {
        const days = daysLeft(certificate);
        if (days >= certificateDays) return [];
        const isDeployed = certificate.deployments.length > 0;
        return [
          {
            kind: 'CERTIFICATE_EXPIRING',
            subjectId: certificate.id,
            subjectName: certificate.name,
            severity: isDeployed && days < URGENT_DAYS ? 'CRITICAL' : 'WARNING',
            statements: [
              expiryOf('CERTIFICATE', certificate.name, days),
              statement(isDeployed ? 'DEPLOYED' : 'NOT_DEPLOYED', {}),
            ],
          },
        ];
      }),
  };
}

interface TokenSourceOptions {
  readonly db: Database;
  readonly changes: Changes;
  /** Whether this process needs the facts. */
  readonly isWanted: () => boolean;
}

interface ExpiringToken {
  readonly id: string;
  readonly projectId: string;
  readonly name: string;
  readonly validUntil: Date | null;
}

const MAX_TOKENS = 10_000;
/** Programs stop working when a token expires. One that is not missed for so long is forgotten. */
const EXPIRED_DAYS = 7;

/** Tokens of projects, read from time to time and when one changes. An expired one is a problem for EXPIRED_DAYS. */
export function tokenSource({ db, changes, isWanted }: TokenSourceOptions): ProjectSource {
  let byProject: ReadonlyMap<string, readonly ExpiringToken[]> | null = null;
  let readAt = Number.NEGATIVE_INFINITY;
  const stop = changes.on('token', () => {
    readAt = Number.NEGATIVE_INFINITY;
  });
  const read = async () => {
    const now = Date.now();
    const until = new Date(now + THRESHOLDS.tokenDays.max * DAY_MS);
    const select = { id: true, projectId: true, name: true, validUntil: true } as const;
    const expiring = await db.projectToken.findMany({
      where: { validUntil: { gt: new Date(now), lt: until } },
      select,
      orderBy: { validUntil: 'asc' },
      take: MAX_TOKENS,
    });
    const expired = await db.projectToken.findMany({
      where: { validUntil: { gt: new Date(now - EXPIRED_DAYS * DAY_MS), lte: new Date(now) } },
      select,
      orderBy: { validUntil: 'desc' },
      take: MAX_TOKENS,
    });
    const rows = [...expiring, ...expired];
    const found = new Map<string, ExpiringToken[]>();
    for (const row of rows) found.set(row.projectId, [...(found.get(row.projectId) ?? []), row]);
    byProject = found;
  };
  return {
    kinds: ['TOKEN_EXPIRING'],
    refresh: async () => {
      if (!isWanted()) {
        // They may change until they are wanted again.
        byProject = null;
        readAt = Number.NEGATIVE_INFINITY;
        return;
      }
      if (!isDue(readEveryMs('TOKEN_EXPIRING'), readAt)) return;
      readAt = performance.now();
      // Without the database, the last tokens remain.
      await read().catch(() => undefined);
    },
    ofProject: ({ id }, { tokenDays }) => {
      if (byProject === null) return null;
      return (byProject.get(id) ?? []).flatMap(({ id: subjectId, name, validUntil }): ProblemFact[] => {
        const days = validUntil === null ? Number.POSITIVE_INFINITY : daysLeft({ expiresAt: validUntil.getTime() });
        if (days < -EXPIRED_DAYS || days >= tokenDays) return [];
        return [{ kind: 'TOKEN_EXPIRING', subjectId, subjectName: name, statements: [expiryOf('TOKEN', name, days)] }];
      });
    },
    close: stop,
  };
}
