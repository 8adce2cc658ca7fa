import { useParams } from 'wouter';
import { useQuery } from './graph/use-query.ts';
import { badgesOf } from './problems/badges.ts';
import { numCritical, unsilenced, useOpenProblems } from './problems/open-problems.ts';
import { countsOf, ProblemBadge } from './problems/problem-badge.tsx';
import { ProjectProblems } from './problems/project-problems.ts';
import { PROJECT, ProjectContext } from './project/project-context.ts';
import { projectTexts } from './project/texts.ts';
import { ScreenTabs } from './screen-tabs.tsx';
import { PROJECT_SCREENS } from './screens.tsx';
import { useTexts } from './texts/texts.ts';
import { Problem } from './ui/problem.tsx';
import './project/style.css';
import { PageHeading } from './ui/page-heading.tsx';
import { usePageAlerts } from './ui/page-title.ts';

/** The name of a project and its menu, around each of its screens. */
export function ProjectFrame() {
  const text = useTexts(projectTexts);
  const { project: id = '', '*': rest = '' } = useParams<{ project: string; '*': string }>();
  const { data, error, renew } = useQuery(PROJECT, { id });
  const problems = useOpenProblems([id]);
  usePageAlerts(numCritical(problems.problems));
  const badges = badgesOf(problems.problems, 'PROJECT').set('problems', countsOf(unsilenced(problems.problems)));
  const project = data?.project;
  if (!project)
    return error?.code === 'NOT_FOUND' ? <p role="alert">{text('noProject')}</p> : <Problem error={error} />;
  const isOffered: Partial<Record<(typeof PROJECT_SCREENS)[number]['key'], boolean>> = {
    audit: project.viewerCanReadAudit,
    notifications: project.viewerCanManageNotifications,
  };
  const screens = PROJECT_SCREENS.filter(({ key }) => isOffered[key] !== false);
  return (
    <ProjectContext.Provider value={{ project, renew }}>
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
          tabs={screens.map(({ key, Screen }) => {
            const counts = badges.get(key);
            return { key, Screen, title: text(key), badge: counts && <ProblemBadge counts={counts} most={1} /> };
          })}
        />
      </ProjectProblems.Provider>
    </ProjectContext.Provider>
  );
}
