import { FolderPlus } from 'lucide-react';
import { useState } from 'react';
import { useQuery } from '../graph/use-query.ts';
import { useCritical } from '../problems/critical-count.tsx';
import { FleetAttention } from '../problems/fleet-attention.tsx';
import { useTexts } from '../texts/texts.ts';
import { useAddressValues } from '../ui/address-values.ts';
import { Empty } from '../ui/empty.tsx';
import { PageHeading } from '../ui/page-heading.tsx';
import { Problem } from '../ui/problem.tsx';
import { CreateProject } from './create-project.tsx';
import { FirstSteps } from './first-steps.tsx';
import { PROJECTS } from './operations.ts';
import { ProjectBrokers } from './project-brokers.tsx';
import { fleetTexts } from './texts.ts';
import { Toolbar } from './toolbar.tsx';
import { Totals } from './totals.tsx';
import './style.css';

/** Projects that are shown at first, and that each click adds. */
const PAGE = 20;
/** Projects that links lead to. */
const MOST = 100;
/** Problems that are shown before the brokers. */
const FEW = 3;
const COUNTS_MS = 5_000;

/** All brokers of all projects at a glance. */
export function Fleet() {
  const text = useTexts(fleetTexts);
  const [wanted, setFirst] = useState(PAGE);
  // A link may open a form of any project.
  const first = useAddressValues().values.get('new')?.startsWith('prj_') ? Math.max(wanted, MOST) : wanted;
  const { data, error, renew } = useQuery(PROJECTS, { first }, COUNTS_MS);
  useCritical(data?.problemCounts.critical);
  if (data === null) return <Problem error={error} />;
  const { nodes: projects, totalCount } = data.projects;
  const ownProject = projects.find(
    ({ viewerCanAddBrokers, viewerCanManageMembers }) => viewerCanAddBrokers && viewerCanManageMembers,
  );
  const hasBrokers = projects.some(({ all }) => all.totalCount > 0);
  return (
    <>
      <header className="screen">
        <PageHeading>{text('fleet')}</PageHeading>
        <CreateProject />
      </header>
      <Totals found={data} />
      <FleetAttention few={FEW} isWell={projects.every(({ away }) => away.totalCount === 0)} />
      {totalCount === 0 && (
        <Empty icon={FolderPlus} title={text('noProjects')}>
          <p>{text('noProjectsText')}</p>
        </Empty>
      )}
      {hasBrokers && <Toolbar />}
      {projects.map((project) => (
        <ProjectBrokers key={project.id} project={project} onAdded={renew} />
      ))}
      {totalCount > projects.length && (
        <button type="button" onClick={() => setFirst(first + PAGE)}>
          {text('moreProjects', { total: totalCount })}
        </button>
      )}
      {/* At the end, where they move nothing when they appear. */}
      {ownProject && <FirstSteps project={ownProject} />}
    </>
  );
}
