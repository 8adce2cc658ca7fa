import { FolderPlus } from 'lucide-react';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { FleetAttention } from '../problems/fleet-attention.tsx';
import { useTexts } from '../texts/texts.ts';
import { Empty } from '../ui/empty.tsx';
import { PageHeading } from '../ui/page-heading.tsx';
import { Problem } from '../ui/problem.tsx';
import { CreateProject } from './create-project.tsx';
import { ProjectBrokers } from './project-brokers.tsx';
import { fleetTexts } from './texts.ts';

const PROJECTS = graphql(
  `query Projects($first: Int!) { projects(first: $first) { totalCount nodes { id name viewerCanAddBrokers } } }`,
);

/** Projects that are shown at first, and that each click adds. */
const PAGE = 20;

/** All brokers of all projects at a glance. */
export function Fleet() {
  const text = useTexts(fleetTexts);
  const [first, setFirst] = useState(PAGE);
  const { data, error } = useQuery(PROJECTS, { first });
  const [search, setSearch] = useSearchParams();
  const name = search.get('name') ?? '';
  if (data === null) return <Problem error={error} />;
  return (
    <>
      <header className="screen">
        <PageHeading>{text('fleet')}</PageHeading>
        <input
          type="search"
          aria-label={text('filterBrokers')}
          placeholder={text('filterBrokers')}
          value={name}
          onInput={({ currentTarget: { value } }) => setSearch(value === '' ? {} : { name: value }, { replace: true })}
        />
        <CreateProject />
      </header>
      <FleetAttention />
      {data.projects.totalCount === 0 && (
        <Empty icon={FolderPlus} title={text('noProjects')}>
          <p>{text('noProjectsText')}</p>
        </Empty>
      )}
      {data.projects.nodes.map((project) => (
        <ProjectBrokers key={project.id} project={project} name={name} />
      ))}
      {data.projects.totalCount > data.projects.nodes.length && (
        <button type="button" onClick={() => setFirst(first + PAGE)}>
          {text('moreProjects', { total: data.projects.totalCount })}
        </button>
      )}
    </>
  );
}
