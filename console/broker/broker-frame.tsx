import { Suspense } from 'react';
import { Link, Route, Switch, useParams } from 'wouter';
import { useQuery } from '../graph/use-query.ts';
import { BROKER_SCREENS } from '../screens.tsx';
import { useTexts } from '../texts/texts.ts';
import { Problem } from '../ui/problem.tsx';
import { BROKER, BrokerContext } from './broker-context.ts';
import { brokerTexts } from './texts.ts';

const STATE_MS = 5_000;
const FIRST = BROKER_SCREENS[0].key;

/** The name, the state and the menu of a broker, around each of its screens. */
export function BrokerFrame() {
  const text = useTexts(brokerTexts);
  const { broker: id = '', '*': rest = '' } = useParams<{ broker: string; '*': string }>();
  const { data, error } = useQuery(BROKER, { id }, STATE_MS);
  if (data === null) return <Problem error={error} />;
  const { broker } = data;
  if (broker === null) return <p role="alert">{text('noBroker')}</p>;
  const [current = FIRST] = rest.split('/').filter((part) => part !== '');
  return (
    <BrokerContext.Provider value={broker}>
      <header className="screen">
        <h1>{broker.name}</h1>
        <span className={`state ${broker.connection.state}`} title={broker.connection.lastError ?? undefined}>
          {text(broker.connection.state)}
        </span>
        <span className="quiet">{broker.project.name}</span>
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
