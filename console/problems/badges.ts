import { unsilenced } from './open-problems.ts';
import type { ShownProblem } from './operations.ts';
import { screenOf } from './problem-address.ts';
import { type Counts, countsOf } from './problem-badge.tsx';

/** Numbers of open problems for each screen of a broker or of a project, by the key of the screen. */
export function badgesOf(problems: readonly ShownProblem[], place: 'BROKER' | 'PROJECT'): Map<string, Counts> {
  const found = new Map<string, ShownProblem[]>();
  for (const problem of unsilenced(problems)) {
    const screen = screenOf(problem.kind, place);
    if (screen !== null) found.set(screen, [...(found.get(screen) ?? []), problem]);
  }
  return new Map(Array.from(found, ([screen, those]) => [screen, countsOf(those)]));
}
