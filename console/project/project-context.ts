import { createContext, useContext } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';

export const PROJECT = graphql(`query ProjectFrame($id: ID!) {
  project(id: $id) {
    id
    name
    viewerRole
    viewerCanReadAudit
    viewerCanManageNotifications
    viewerCanSilenceProblems
    settings { hasStrictRoles }
  }
}`);

export type Project = NonNullable<ResultOf<typeof PROJECT>['project']>;

interface Shown {
  readonly project: Project;
  /** Reads the project again, after a change of its settings. */
  readonly renew: () => void;
}

export const ProjectContext = createContext<Shown | null>(null);

function useShown(): Shown {
  const shown = useContext(ProjectContext);
  if (shown === null) throw new Error('Only screens of a project have one');
  return shown;
}

/** The project whose screens are shown. */
export const useProject = (): Project => useShown().project;

export const useRenewProject = (): (() => void) => useShown().renew;
