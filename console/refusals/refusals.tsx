import { useLocation, useRoute } from 'wouter';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Problem } from '../ui/problem.tsx';
import { RefusalList } from './refusal-list.tsx';

const BROKERS = graphql(`query BrokerNames {
  projects(first: 50) { nodes { id name brokers(first: 100) { nodes { id name url } } } }
}`);

/** Refused clients of a broker, with the reasons. */
export function Refusals() {
  const text = useTexts();
  const { data, error } = useQuery(BROKERS, {});
  const [, go] = useLocation();
  const [, route] = useRoute('/refusals/:broker');
  if (data === null) return <Problem error={error} />;
  const projects = data.projects.nodes;
  const brokers = projects.flatMap((project) => project.brokers.nodes);
  const broker = brokers.find(({ id }) => id === route?.broker) ?? brokers[0];
  return (
    <>
      <header className="screen">
        <h1>{text('refusals')}</h1>
        <select
          aria-label={text('chooseBroker')}
          value={broker?.id}
          onChange={({ currentTarget: { value } }) => go(`/refusals/${value}`)}
        >
          {projects.map((project) => (
            <optgroup key={project.id} label={project.name}>
              {project.brokers.nodes.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </header>
      {broker && <RefusalList key={broker.id} broker={broker} />}
    </>
  );
}
