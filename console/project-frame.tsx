import { useParams } from 'wouter';
import { badgesOf } from './problems/badges.ts';
import { unsilenced, useOpenProblems } from './problems/open-problems.ts';
import { countsOf, ProblemBadge } from './problems/problem-badge.tsx';
import { ProjectProblems } from './problems/project-problems.ts';
import { OfProject } from './project/of-project.tsx';
import type { Project } from './project/project-context.ts';
import { projectTexts } from './project/texts.ts';
import { ScreenTabs } from './screen-tabs.tsx';
import { projectScreensOf } from './screens.tsx';
import { useTexts } from './texts/texts.ts';
import './project/style.css';
import { PageHeading } from './ui/page-heading.tsx';

/** The name of a project and its menu, around each of its screens. */
export function ProjectFrame() {
  const { project: id = '' } = useParams<{ project: string }>();
  return <OfProject id={id}>{(project) => <Frame project={project} />}</OfProject>;
}

function Frame({ project }: { readonly project: Project }) {
  const text = useTexts(projectTexts);
  const { '*': rest = '' } = useParams<{ '*': string }>();
  const { id } = project;
  const problems = useOpenProblems([id]);
  const badges = badgesOf(problems.problems, 'PROJECT').set('problems', countsOf(unsilenced(problems.problems)));
  return (
    <ProjectProblems.Provider value={problems}>
      <header className="screen place">
        <PageHeading>{project.name}</PageHeading>
        <span className="quiet">{text('yourRole', { role: text(project.viewerRole) })}</span>
      </header>
      <ScreenTabs
        label={text('screens')}
        address={`/projects/${id}`}
        path="/projects/:project"
        rest={rest}
        tabs={projectScreensOf(project).map(({ key, Screen }) => {
          const counts = badges.get(key);
          return { key, Screen, title: text(key), badge: counts && <ProblemBadge counts={counts} most={1} /> };
        })}
      />
    </ProjectProblems.Provider>
  );
}
