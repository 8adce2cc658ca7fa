import type { ReactNode } from 'react';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Problem } from '../ui/problem.tsx';
import { PROJECT, type Project, ProjectContext } from './project-context.ts';
import { projectTexts } from './texts.ts';

interface OfProjectProps {
  readonly id: string;
  readonly children: (project: Project) => ReactNode;
}

/** What is shown of a project. Without the project, the reason. */
export function OfProject({ id, children }: OfProjectProps) {
  const text = useTexts(projectTexts);
  const { data, error, renew } = useQuery(PROJECT, { id });
  const project = data?.project;
  if (!project)
    return error?.code === 'NOT_FOUND' ? <p role="alert">{text('noProject')}</p> : <Problem error={error} />;
  // Forms start again with another project: what was typed is for this one.
  return (
    <ProjectContext.Provider key={project.id} value={{ project, renew }}>
      {children(project)}
    </ProjectContext.Provider>
  );
}
