import { createContext, useContext } from 'react';
import type { OpenProblems } from './open-problems.ts';

/** The frame of a project follows its problems, for its menu and for its screens. */
export const ProjectProblems = createContext<OpenProblems | null>(null);

/** The open problems of the project whose screens are shown. */
export function useProjectProblems(): OpenProblems {
  const problems = useContext(ProjectProblems);
  if (problems === null) throw new Error('Only screens of a project have its problems');
  return problems;
}
