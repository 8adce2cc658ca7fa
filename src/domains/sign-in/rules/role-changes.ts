import type { Logger } from 'pino';
import { type ProjectRole, roleIncludes } from '../../../platform/auth/viewer.ts';
import type { Database } from '../../../platform/storage/database.ts';
import type { AuditService } from '../../audit/audit-service.ts';
import type { Claims } from './claim-values.ts';
import type { KnownRule } from './known-rules.ts';
import { rolesByRules } from './rule-roles.ts';

export interface RoleChangeParts {
  readonly db: Database;
  readonly audit: Pick<AuditService, 'record'>;
  readonly log: Logger;
}

/** What a provider said of a person, JSON. */
export interface ChangedClaims {
  readonly userId: string;
  readonly provider: string;
  readonly before: string;
  readonly after: string;
}

/**
 * Records which roles rules give a person now, or no longer, by what the provider says: an entry for each project, for its
 * administrators to read. Never rejects.
 */
export async function recordRoleChanges({ db, audit, log }: RoleChangeParts, changed: ChangedClaims): Promise<void> {
  const { userId, provider, before, after } = changed;
  if (before === after) return;
  try {
    // Rare enough to read them anew: claims that changed.
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
        after: { role: has.get(projectId) ?? null, provider },
        result: 'DONE',
      });
    await Promise.all(projects.map(record));
  } catch (error) {
    log.error({ err: error, userId }, 'the audit could not be told the roles that a provider changed');
  }
}

async function highestRoles(rules: readonly KnownRule[], claims: string): Promise<Map<string, ProjectRole>> {
  const roles = new Map<string, ProjectRole>();
  for (const { projectId, role } of await rolesByRules(rules, JSON.parse(claims) as Claims)) {
    const held = roles.get(projectId);
    if (held === undefined || roleIncludes(role, held)) roles.set(projectId, role);
  }
  return roles;
}
