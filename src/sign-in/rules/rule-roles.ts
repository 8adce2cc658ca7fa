import type { ProjectRole } from '../../auth/viewer.ts';
import type { Database } from '../../storage/database.ts';
import { type Claims, valuesAt } from './claim-values.ts';
import { type Budget, Pattern } from './pattern.ts';
import { PatternError } from './pattern-parser.ts';

/** Steps of matching for one person in one project, about ten milliseconds: what a project's patterns cost, all others wait for. */
const STEPS_PER_PROJECT = 500_000;

/** A project and a role in it, for each rule that a person's claims fit. A person may have several in one project. */
export async function rolesByRules(
  db: Database,
  { provider, claims }: { readonly provider: string; readonly claims: string },
): Promise<{ readonly projectId: string; readonly role: ProjectRole }[]> {
  const rules = await db.signInRule.findMany({
    where: { provider },
    select: { projectId: true, claimPath: true, pattern: true, role: true },
    orderBy: { id: 'asc' },
  });
  const known = JSON.parse(claims) as Claims;
  const values = new Map<string, readonly string[]>();
  const budgets = new Map<string, Budget>();
  return rules.filter(({ projectId, claimPath, pattern }) => {
    const told = values.get(claimPath) ?? valuesAt(known, claimPath);
    values.set(claimPath, told);
    const budget = budgets.get(projectId) ?? { left: STEPS_PER_PROJECT };
    budgets.set(projectId, budget);
    return fitsOne(pattern, told, budget);
  });
}

function fitsOne(text: string, values: readonly string[], budget: Budget): boolean {
  if (values.length === 0) return false;
  if (/^[\w /:=,-]+$/.test(text)) return values.includes(text);
  try {
    const pattern = new Pattern(text);
    return values.some((value) => pattern.fits(value, budget));
  } catch (error) {
    // Written by a version that knew more.
    if (error instanceof PatternError) return false;
    throw error;
  }
}
