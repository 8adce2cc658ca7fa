import { useParams } from 'wouter';
import { useQuery } from './graph/use-query.ts';
import { BROKER_SCREENS } from './screens.tsx';
import { useTexts } from './texts/texts.ts';
import { Problem } from './ui/problem.tsx';
import { ScreenTabs } from './screen-tabs.tsx';
import { BROKER, type Broker, BrokerContext } from './broker/broker-context.ts';
import { brokerTexts } from './broker/texts.ts';
import { useConnection } from './broker/use-connection.ts';

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
  if (isRemoved) return <p role="alert">{text('noBroker')}</p>;
  const { id, name, project } = found;
  return (
    <BrokerContext.Provider value={{ broker: { ...found, connection }, renew }}>
      <header className="screen">
        <h1>{name}</h1>
        <span
          className={isLive ? `state ${connection.state}` : 'state stale'}
          title={connection.lastError ?? undefined}
        >
          {text(connection.state)}
        </span>
        <span className="quiet">{project.name}</span>
      </header>
      <ScreenTabs
        label={text('screens')}
        address={`/brokers/${id}`}
        path="/brokers/:broker"
        rest={rest}
        tabs={BROKER_SCREENS.map(({ key, Screen }) => ({ key, Screen, title: text(key) }))}
      />
    </BrokerContext.Provider>
  );
}
