import type { Logger } from 'pino';
import { type ProjectRole, roleIncludes } from '../../../platform/auth/viewer.ts';
import type { Database } from '../../../platform/storage/database.ts';
import type { AuditService } from '../../audit/audit-service.ts';
import type { Claims } from './claim-values.ts';
import type { CachedRule } from './rule-cache.ts';
import { rolesByRules } from './rule-roles.ts';

interface RoleChangeParts {
  readonly db: Database;
  readonly audit: Pick<AuditService, 'record'>;
  readonly log: Logger;
}

interface ChangedClaims {
  readonly userId: string;
  readonly provider: string;
  readonly before: string;
  readonly after: string;
  /** Why the provider did not send the groups. */
  readonly reason?: string | undefined;
}

/** Records role changes that result from changed claims, one audit entry for each project. Never rejects. */
export async function recordRoleChanges({ db, audit, log }: RoleChangeParts, changed: ChangedClaims): Promise<void> {
  const { userId, provider, before, after, reason } = changed;
  if (before === after) return;
  try {
    // Not from the cache: changed claims are rare.
    const rules = await db.signInRule.findMany({ where: { provider }, orderBy: { id: 'asc' } });
    const had = await highestRoles(rules, before);
    const has = await highestRoles(rules, after);
    const projects = [...new Set([...had.keys(), ...has.keys()])].filter((id) => had.get(id) !== has.get(id));
    const record = (projectId: string) =>
      audit.record({
        operation: 'changeRoleBySignIn',
        target: { kind: 'user', id: userId },
        projectId,
        before: { role: had.get(projectId) ?? null },
        after: { role: has.get(projectId) ?? null, provider, ...(reason !== undefined && { reason }) },
        result: 'DONE',
      });
    await Promise.all(projects.map(record));
  } catch (error) {
    log.error({ err: error, userId }, 'could not record role changes by sign-in rules in the audit');
  }
}

async function highestRoles(rules: readonly CachedRule[], claims: string): Promise<Map<string, ProjectRole>> {
  const roles = new Map<string, ProjectRole>();
  for (const { projectId, role } of await rolesByRules(rules, JSON.parse(claims) as Claims)) {
    const held = roles.get(projectId);
    if (held === undefined || roleIncludes(role, held)) roles.set(projectId, role);
  }
  return roles;
}
