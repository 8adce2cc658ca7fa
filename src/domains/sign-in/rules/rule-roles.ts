import { LRUCache } from 'lru-cache';
import type { ProjectRole } from '../../../platform/auth/viewer.ts';
import { type Claims, valuesAt } from './claim-values.ts';
import type { KnownRule } from './known-rules.ts';
import { type Budget, Pattern } from './pattern.ts';
import { PatternError } from './pattern-parser.ts';

/** Steps of matching for one person in one project, about ten milliseconds. */
const STEPS_PER_PROJECT = 500_000;
/** After so many of all projects everybody else has a turn: whoever signs in can have projects with rules that cost. */
const STEPS_AT_ONCE = 500_000;
/** Patterns that were made; the longest unused is made anew. Null: written by a version that knew more. */
const patterns = new LRUCache<string, { readonly pattern: Pattern | null }>({ max: 2_000 });

/** A project and a role in it, for each rule that a person's claims fit. A person may have several in one project. */
export async function rolesByRules(
  rules: readonly KnownRule[],
  claims: Claims,
): Promise<{ readonly projectId: string; readonly role: ProjectRole }[]> {
  const values = new Map<string, readonly string[]>();
  const budgets = new Map<string, Budget>();
  const fitting: { readonly projectId: string; readonly role: ProjectRole }[] = [];
  let spent = 0;
  for (const { projectId, role, claimPath, pattern } of rules) {
    const told = values.get(claimPath) ?? valuesAt(claims, claimPath);
    values.set(claimPath, told);
    const budget = budgets.get(projectId) ?? { left: STEPS_PER_PROJECT };
    budgets.set(projectId, budget);
    const before = budget.left;
    if (fitsOne(pattern, told, budget)) fitting.push({ projectId, role });
    spent += before - budget.left;
    if (spent < STEPS_AT_ONCE) continue;
    spent = 0;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return fitting;
}

function fitsOne(text: string, values: readonly string[], budget: Budget): boolean {
  if (values.length === 0) return false;
  if (/^[\w /:=,-]+$/.test(text)) {
    budget.left -= values.length;
    return values.includes(text);
  }
  if (budget.left < 0) return false;
  const pattern = patternOf(text, budget);
  return pattern !== null && values.some((value) => budget.left >= 0 && pattern.fits(value, budget));
}

function patternOf(text: string, budget: Budget): Pattern | null {
  const known = patterns.get(text);
  if (known !== undefined) return known.pattern;
  let pattern: Pattern | null = null;
  try {
    pattern = new Pattern(text);
    budget.left -= pattern.steps;
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
  }
  patterns.set(text, { pattern });
  return pattern;
}
