import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Problem } from '../ui/problem.tsx';
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
        <h1>{text('fleet')}</h1>
        <input
          type="search"
          aria-label={text('filterBrokers')}
          placeholder={text('filterBrokers')}
          value={name}
          onInput={({ currentTarget: { value } }) => setSearch(value === '' ? {} : { name: value }, { replace: true })}
        />
      </header>
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
