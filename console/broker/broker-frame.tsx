import { Suspense } from 'react';
import { Link, Route, Switch, useParams } from 'wouter';
import { useQuery } from '../graph/use-query.ts';
import { BROKER_SCREENS } from '../screens.tsx';
import { useTexts } from '../texts/texts.ts';
import { Problem } from '../ui/problem.tsx';
import { BROKER, type Broker, BrokerContext } from './broker-context.ts';
import { brokerTexts } from './texts.ts';
import { useConnection } from './use-connection.ts';

const FIRST = BROKER_SCREENS[0].key;

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
  const [current = FIRST] = rest.split('/').filter((part) => part !== '');
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
      <nav className="tabs" aria-label={text('screens')}>
        {BROKER_SCREENS.map(({ key }) => (
          <Link
            key={key}
            href={`/brokers/${id}${key === FIRST ? '' : `/${key}`}`}
            aria-current={key === current ? 'page' : undefined}
          >
            {text(key)}
          </Link>
        ))}
      </nav>
      <Suspense fallback={<Problem error={null} />}>
        <Switch>
          {BROKER_SCREENS.map(({ key, Screen }) => (
            <Route key={key} path={`/brokers/:broker${key === FIRST ? '' : `/${key}/*?`}`} component={Screen} />
          ))}
        </Switch>
      </Suspense>
    </BrokerContext.Provider>
  );
}
