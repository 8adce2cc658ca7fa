import type { SignInRule } from '../../../generated/sqlite/client.ts';
import {
  type ProjectRole,
  requireNoToken,
  requireProjectRole,
  requireSignedIn,
  type Viewer,
} from '../../../platform/auth/viewer.ts';
import { type InputIssue, invalid, notFound, ServiceError } from '../../../platform/errors.ts';
import { newId } from '../../../platform/ids.ts';
import type { Changes } from '../../../platform/storage/changes/changes.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { RowLock } from '../../../platform/storage/postgresql/row-lock.ts';
import { missingAsNotFound } from '../../../platform/storage/prisma-errors.ts';
import { textIssues } from '../../../platform/text/texts.ts';
import { type Nullish, withoutNulls } from '../../../platform/without-nulls.ts';
import type { SignInProvider } from '../../users/sign-in-methods.ts';
import { Pattern, PatternError } from './pattern.ts';

const MAX_RULES = 100;
const MAX_PATH = 200;

interface NewSignInRule {
  readonly provider: SignInProvider;
  /** Default: the groups claim of the provider. */
  readonly claimPath?: string | null | undefined;
  readonly pattern: string;
  readonly role: ProjectRole;
}

type RuleKey = Pick<SignInRule, 'id' | 'projectId'>;

type SignInRuleChange = Nullish<Pick<SignInRule, 'claimPath' | 'pattern' | 'role'>>;

interface SignInRuleServiceOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly groupsClaims: Readonly<Record<SignInProvider, string>>;
}

/**
 * Rules that grant project roles to users of external providers. Roles are not stored, so changes apply immediately.
 */
export class SignInRuleService {
  readonly #options: SignInRuleServiceOptions;
  readonly #lock: RowLock;

  constructor(options: SignInRuleServiceOptions) {
    this.#options = options;
    this.#lock = new RowLock(options.db);
  }

  /** Creates all rules or none. Errors: INVALID at `input.rules.<n>.…`, IN_USE (too many), NOT_FOUND. */
  async create(projectId: string, rules: readonly NewSignInRule[]): Promise<RuleKey[]> {
    const issues = rules.flatMap((rule, n) => issuesOf(rule, `input.rules.${n}`));
    if (rules.length === 0) issues.push({ path: 'input.rules', reason: 'must have at least one rule' });
    if (issues.length > 0) throw invalid(issues);
    const now = Date.now();
    const data = rules.map(({ provider, claimPath, pattern, role }, n) => ({
      // Ids sort in the order of the input.
      id: newId('signInRule', now + n),
      projectId,
      provider,
      claimPath: claimPath ?? this.#options.groupsClaims[provider],
      pattern,
      role,
    }));
    await this.#lock.run('Project', projectId, async (tx) => {
      if ((await tx.signInRule.count({ where: { projectId } })) + data.length > MAX_RULES) {
        throw new ServiceError('IN_USE', `A project has at most ${MAX_RULES} rules`, { info: { limit: MAX_RULES } });
      }
      await tx.signInRule.createMany({ data });
    });
    await this.#options.changes.announce('sign-in-rule', projectId);
    return data;
  }

  /**
   * Requires the ADMIN role in the project of the rule. Tokens are not allowed. Errors: NOT_FOUND, NOT_ALLOWED,
   * INVALID.
   */
  async update(id: string, change: SignInRuleChange, viewer: Viewer | null, projectId?: string | null) {
    const rule = await this.#changeable(id, viewer, projectId);
    const { claimPath = rule.claimPath, pattern = rule.pattern, role = rule.role } = withoutNulls(change);
    const issues = issuesOf({ claimPath, pattern }, 'input');
    if (issues.length > 0) throw invalid(issues);
    const data = { claimPath, pattern, role };
    const changed = await this.#options.db.signInRule
      .update({ where: { id }, data })
      .catch(missingAsNotFound('rule', id));
    await this.#options.changes.announce('sign-in-rule', rule.projectId);
    return changed;
  }

  /** Requires the rights of `update`. Subscriptions of users whose only role came from the rule end. */
  async remove(id: string, viewer: Viewer | null, projectId?: string | null): Promise<void> {
    const rule = await this.#changeable(id, viewer, projectId);
    const { count } = await this.#options.db.signInRule.deleteMany({ where: { id } });
    if (count === 0) throw notFound('rule', id);
    await this.#options.changes.announce('sign-in-rule', rule.projectId);
  }

  async #changeable(id: string, viewer: Viewer | null, projectId?: string | null): Promise<SignInRule> {
    const known = requireSignedIn(viewer);
    const rule = await this.#options.db.signInRule.findUnique({ where: { id } });
    if (rule === null || (projectId != null && rule.projectId !== projectId)) throw notFound('rule', id);
    try {
      requireProjectRole(known, rule.projectId, 'ADMIN');
    } catch (error) {
      // If the project is invisible, the error must not reveal that the rule exists.
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') throw notFound('rule', id);
      throw error;
    }
    requireNoToken(known);
    return rule;
  }
}

function issuesOf({ claimPath, pattern }: Pick<NewSignInRule, 'claimPath' | 'pattern'>, path: string): InputIssue[] {
  const issues = textIssues(`${path}.claimPath`, claimPath, { min: 1, max: MAX_PATH });
  if (pattern.includes('\0')) issues.push({ path: `${path}.pattern`, reason: 'must not hold the character U+0000' });
  try {
    new Pattern(pattern);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    issues.push({ path: `${path}.pattern`, reason: error.message });
  }
  return issues;
}
