import { useParams } from 'wouter';
import { BROKER, type Broker, BrokerContext } from './broker/broker-context.ts';
import { BrokerSwitcher } from './broker/broker-switcher.tsx';
import { brokerTexts } from './broker/texts.ts';
import { useConnection } from './broker/use-connection.ts';
import { useQuery } from './graph/use-query.ts';
import { badgesOf } from './problems/badges.ts';
import { useOpenProblems } from './problems/open-problems.ts';
import { ProblemBadge } from './problems/problem-badge.tsx';
import { ProjectProblems } from './problems/project-problems.ts';
import { ScreenTabs, tabOf } from './screen-tabs.tsx';
import { BROKER_SCREENS } from './screens.tsx';
import { useTexts } from './texts/texts.ts';
import { PageHeading } from './ui/page-heading.tsx';
import { Problem } from './ui/problem.tsx';
import { Trail } from './ui/trail.tsx';

/** The name, the state and the menu of a broker, around each of its screens. */
export function BrokerFrame() {
  const text = useTexts(brokerTexts);
  const { broker: id = '' } = useParams<{ broker: string }>();
  const { data, error, renew } = useQuery(BROKER, { id });
  if (data === null) return <Problem error={error} />;
  if (data.broker === null) return <p role="alert">{text('noBroker')}</p>;
  return <Frame key={data.broker.id} found={data.broker} renew={renew} />;
}

interface FrameProps {
  readonly found: Broker;
  readonly renew: () => void;
}

function Frame({ found, renew }: FrameProps) {
  const text = useTexts(brokerTexts);
  const { '*': rest = '' } = useParams<{ '*': string }>();
  const { connection, isLive, isRemoved } = useConnection(found);
  const { id, name, project } = found;
  const problems = useOpenProblems([project.id]);
  const own = problems.problems.filter(({ broker }) => broker?.id === id);
  const badges = badgesOf(own, 'BROKER');
  if (isRemoved) return <p role="alert">{text('noBroker')}</p>;
  const tabs = BROKER_SCREENS.map(({ key, Screen }) => {
    const counts = badges.get(key);
    return { key, Screen, title: text(key), badge: counts && <ProblemBadge counts={counts} most={1} /> };
  });
  return (
    <BrokerContext.Provider value={{ broker: { ...found, connection }, renew }}>
      <Trail label={text('trail')} steps={[{ title: project.name, address: `/projects/${project.id}` }]} />
      <header className="screen place">
        <PageHeading>{name}</PageHeading>
        <BrokerSwitcher broker={found} screen={tabOf(rest, tabs)} />
        <span
          className={isLive ? `state ${connection.state}` : 'state stale'}
          title={connection.lastError ?? undefined}
        >
          {text(connection.state)}
        </span>
      </header>
      <ProjectProblems.Provider value={problems}>
        <ScreenTabs
          label={text('screens')}
          address={`/brokers/${id}`}
          path="/brokers/:broker"
          rest={rest}
          tabs={tabs}
        />
      </ProjectProblems.Provider>
    </BrokerContext.Provider>
  );
}
