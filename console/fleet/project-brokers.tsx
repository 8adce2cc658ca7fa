import { RadioTower } from 'lucide-react';
import { useId } from 'react';
import { Link } from 'wouter';
import { AddBroker } from '../broker/add-broker.tsx';
import { RunBroker } from '../broker/run-broker.tsx';
import { addressOf } from '../graph/addresses.ts';
import { useTexts } from '../texts/texts.ts';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { Empty } from '../ui/empty.tsx';
import { Pager } from '../ui/pager.tsx';
import { Problem } from '../ui/problem.tsx';
import { BrokerTable } from './broker-table.tsx';
import { BrokerTiles } from './broker-tiles.tsx';
import { useFleetView } from './fleet-view.ts';
import type { Project } from './operations.ts';
import { fleetTexts } from './texts.ts';
import { useBrokers } from './use-brokers.ts';

interface ProjectBrokersProps {
  readonly project: Project;
  /** Called after a broker was added. */
  readonly onAdded: () => void;
}

/** The brokers of a project that the address selects, as a table or as tiles. */
export function ProjectBrokers({ project, onAdded }: ProjectBrokersProps) {
  const text = useTexts(fleetTexts);
  const heading = useId();
  const { view, set, linkTo } = useFleetView();
  const { brokers, total, page, error, renew } = useBrokers(project.id, view);
  const { all, away } = project;
  const added = () => {
    renew();
    onAdded();
  };
  return (
    <section aria-labelledby={heading}>
      <header className="screen">
        <h2 id={heading}>
          <Link href={`/projects/${project.id}`}>{project.name}</Link>
        </h2>
        {away.totalCount > 0 && (
          <Link href={linkTo({ show: 'away' })} className="state UNREACHABLE">
            {text('notConnected', { count: away.totalCount, total: all.totalCount })}
          </Link>
        )}
        {project.viewerCanAddBrokers && (
          <div className="buttons">
            <RunBroker project={project} />
            <AddBroker project={project} onAdded={added} label={text('addBroker')} />
          </div>
        )}
      </header>
      {brokers === null && <Problem error={error} />}
      {brokers?.length === 0 &&
        (all.totalCount === 0 ? (
          <Empty icon={RadioTower} title={text('noBrokers')}>
            <CommandToCopy command={addCommand(project.id)} />
          </Empty>
        ) : (
          <p className="quiet">{text('noMatch')}</p>
        ))}
      {brokers !== null &&
        brokers.length > 0 &&
        (view.isTiles ? (
          <BrokerTiles label={text('brokersOf', { project: project.name })} brokers={brokers} />
        ) : (
          <BrokerTable project={project} brokers={brokers} />
        ))}
      {brokers !== null && (total > brokers.length || page > 1) && (
        <Pager page={page} total={total} onPage={(next) => set({ [project.id]: next === 1 ? '' : String(next) })} />
      )}
    </section>
  );
}

const addCommand = (projectId: string): string =>
  `curl ${addressOf(`api/projects/${projectId}/brokers`)} -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' -d '{ "name": "plant", "url": "mqtt://broker.example.com:1883" }'`;
