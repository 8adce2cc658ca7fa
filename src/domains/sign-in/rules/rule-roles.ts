import { LRUCache } from 'lru-cache';
import type { ProjectRole } from '../../../platform/auth/viewer.ts';
import { type Claims, valuesAt } from './claim-values.ts';
import { Pattern, PatternError } from './pattern.ts';
import type { CachedRule } from './rule-cache.ts';

/** Maximum time for matching a user's claims against the rules of one project. Later rules match nothing. */
const PROJECT_BUDGET_MS = 100;
const YIELD_AFTER_MS = 10;
const MAX_COMPILE_MS = 5;

/** Compiled patterns by their text. `null` if the pattern is invalid: an earlier version accepted it. */
const patterns = new LRUCache<string, { readonly pattern: Pattern | null }>({ max: 2_000 });

interface Budget {
  leftMs: number;
}

/** The project and the role of each rule that matches. A user may have several roles in one project. */
export async function rolesByRules(
  rules: readonly CachedRule[],
  claims: Claims,
): Promise<{ readonly projectId: string; readonly role: ProjectRole }[]> {
  const valuesByPath = new Map<string, readonly string[]>();
  const budgets = new Map<string, Budget>();
  const matching: { readonly projectId: string; readonly role: ProjectRole }[] = [];
  let spentMs = 0;
  for (const { projectId, role, claimPath, pattern } of rules) {
    const values = valuesByPath.get(claimPath) ?? valuesAt(claims, claimPath);
    valuesByPath.set(claimPath, values);
    const budget = budgets.get(projectId) ?? { leftMs: PROJECT_BUDGET_MS };
    budgets.set(projectId, budget);
    const leftBefore = budget.leftMs;
    if (matchesAny(pattern, values, budget)) matching.push({ projectId, role });
    spentMs += leftBefore - budget.leftMs;
    if (spentMs < YIELD_AFTER_MS) continue;
    spentMs = 0;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return matching;
}

function matchesAny(text: string, values: readonly string[], budget: Budget): boolean {
  if (/^[\w /:=,-]+$/.test(text)) return values.includes(text);
  if (values.length === 0 || budget.leftMs < 0) return false;
  const pattern = patternOf(text, budget);
  return pattern !== null && values.some((value) => matchesWithin(budget, pattern, value));
}

function matchesWithin(budget: Budget, pattern: Pattern, value: string): boolean {
  return budget.leftMs >= 0 && charged(budget, pattern.maxMs(value.length), () => pattern.matches(value));
}

function patternOf(text: string, budget: Budget): Pattern | null {
  const known = patterns.get(text);
  if (known !== undefined) return known.pattern;
  const pattern = charged(budget, MAX_COMPILE_MS, () => compiled(text));
  patterns.set(text, { pattern });
  return pattern;
}

function compiled(text: string): Pattern | null {
  try {
    return new Pattern(text);
  } catch (error) {
    if (error instanceof PatternError) return null;
    throw error;
  }
}

/** Charges at most `maxMs`: a pause of the process, such as garbage collection, must not cost a user a role. */
function charged<Result>(budget: Budget, maxMs: number, work: () => Result): Result {
  const startedAt = performance.now();
  const result = work();
  budget.leftMs -= Math.min(performance.now() - startedAt, maxMs);
  return result;
}
