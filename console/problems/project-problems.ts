import { createContext, useContext } from 'react';
import type { OpenProblems } from './open-problems.ts';

/** The frames of projects and brokers follow the problems of the project, for their menus and screens. */
export const ProjectProblems = createContext<OpenProblems | null>(null);

/** The open problems of the project of the screens that are shown. */
export function useProjectProblems(): OpenProblems {
  const problems = useContext(ProjectProblems);
  if (problems === null) throw new Error('Only screens of a project or a broker have its problems');
  return problems;
}
