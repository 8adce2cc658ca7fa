import { useParams } from 'wouter';
import type { Broker } from './broker/broker-context.ts';
import { BrokerSwitcher } from './broker/broker-switcher.tsx';
import { OfBroker } from './broker/of-broker.tsx';
import { brokerTexts } from './broker/texts.ts';
import { badgesOf } from './problems/badges.ts';
import { useOpenProblems } from './problems/open-problems.ts';
import { ProblemBadge } from './problems/problem-badge.tsx';
import { ProjectProblems } from './problems/project-problems.ts';
import { ScreenTabs, tabOf } from './screen-tabs.tsx';
import { BROKER_SCREENS } from './screens.tsx';
import { useTexts } from './texts/texts.ts';
import { WithTooltip } from './ui/as-sent.tsx';
import { PageHeading } from './ui/page-heading.tsx';
import { Trail } from './ui/trail.tsx';

/** The name, the state and the menu of a broker, around each of its screens. */
export function BrokerFrame() {
  const { broker: id = '' } = useParams<{ broker: string }>();
  return <OfBroker id={id}>{(broker, isLive) => <Frame broker={broker} isLive={isLive} />}</OfBroker>;
}

function Frame({ broker, isLive }: { readonly broker: Broker; readonly isLive: boolean }) {
  const text = useTexts(brokerTexts);
  const { '*': rest = '' } = useParams<{ '*': string }>();
  const { id, name, project, connection } = broker;
  const problems = useOpenProblems([project.id]);
  const own = problems.problems.filter(({ broker: of }) => of?.id === id);
  const badges = badgesOf(own, 'BROKER');
  const tabs = BROKER_SCREENS.map(({ key, Screen }) => {
    const counts = badges.get(key);
    return { key, Screen, title: text(key), badge: counts && <ProblemBadge counts={counts} most={1} /> };
  });
  return (
    <>
      <Trail label={text('trail')} steps={[{ title: project.name, address: `/projects/${project.id}` }]} />
      <header className="screen place">
        <PageHeading>{name}</PageHeading>
        <BrokerSwitcher broker={broker} screen={tabOf(rest, tabs)} />
        <WithTooltip className={isLive ? `state ${connection.state}` : 'state stale'} tooltip={connection.lastError}>
          {text(connection.state)}
        </WithTooltip>
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
    </>
  );
}
