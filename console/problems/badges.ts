import { unsilenced } from './open-problems.ts';
import type { ShownProblem } from './operations.ts';
import { screenOf } from './problem-address.ts';
import { type Counts, countsOf } from './problem-badge.tsx';

/** Numbers of open problems for each screen of a broker or of a project, by the key of the screen. */
export function badgesOf(problems: readonly ShownProblem[], place: 'BROKER' | 'PROJECT'): Map<string, Counts> {
  const found = Map.groupBy(unsilenced(problems), ({ kind }) => screenOf(kind, place));
  return new Map(
    [...found].flatMap(([screen, those]) => (screen === null ? [] : [[screen, countsOf(those)] as const])),
  );
}
