import { Suspense } from 'react';
import { Link, Route, Switch, useParams } from 'wouter';
import { useQuery } from '../graph/use-query.ts';
import { PROJECT_SCREENS } from '../screens.tsx';
import { useTexts } from '../texts/texts.ts';
import { Problem } from '../ui/problem.tsx';
import { PROJECT, ProjectContext } from './project-context.ts';
import { projectTexts } from './texts.ts';
import './style.css';

const FIRST = PROJECT_SCREENS[0].key;

/** The name of a project and its menu, around each of its screens. */
export function ProjectFrame() {
  const text = useTexts(projectTexts);
  const { project: id = '', '*': rest = '' } = useParams<{ project: string; '*': string }>();
  const { data, error, renew } = useQuery(PROJECT, { id });
  const project = data?.project;
  if (!project)
    return error?.code === 'NOT_FOUND' ? <p role="alert">{text('noProject')}</p> : <Problem error={error} />;
  const [current = FIRST] = rest.split('/').filter((part) => part !== '');
  const screens = PROJECT_SCREENS.filter(({ key }) => key !== 'audit' || project.viewerCanReadAudit);
  return (
    <ProjectContext.Provider value={{ project, renew }}>
      <header className="screen">
        <h1>{project.name}</h1>
        <span className="quiet">{text('yourRole', { role: text(project.viewerRole) })}</span>
      </header>
      <nav className="tabs" aria-label={text('screens')}>
        {screens.map(({ key }) => (
          <Link
            key={key}
            href={`/projects/${id}${key === FIRST ? '' : `/${key}`}`}
            aria-current={key === current ? 'page' : undefined}
          >
            {text(key)}
          </Link>
        ))}
      </nav>
      <Suspense fallback={<Problem error={null} />}>
        <Switch>
          {screens.map(({ key, Screen }) => (
            <Route key={key} path={`/projects/:project${key === FIRST ? '' : `/${key}/*?`}`} component={Screen} />
          ))}
        </Switch>
      </Suspense>
    </ProjectContext.Provider>
  );
}
