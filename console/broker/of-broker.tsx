import type { ReactNode } from 'react';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Problem } from '../ui/problem.tsx';
import { BROKER, type Broker, BrokerContext } from './broker-context.ts';
import { useConnection } from './use-connection.ts';

interface OfBrokerProps {
  readonly id: string;
  /** `isLive`: whether its connection is that of now. */
  readonly children: (broker: Broker, isLive: boolean) => ReactNode;
}

/** What is shown of a broker, whose connection is followed. Without the broker, the reason. */
export function OfBroker({ id, children }: OfBrokerProps) {
  const text = useTexts();
  const { data, error, renew } = useQuery(BROKER, { id });
  if (data === null) return <Problem error={error} />;
  if (data.broker === null) return <p role="alert">{text('noBroker')}</p>;
  return (
    <Followed key={data.broker.id} found={data.broker} renew={renew}>
      {children}
    </Followed>
  );
}

interface FollowedProps extends Pick<OfBrokerProps, 'children'> {
  readonly found: Broker;
  readonly renew: () => void;
}

function Followed({ found, renew, children }: FollowedProps) {
  const text = useTexts();
  const { connection, isLive, isRemoved } = useConnection(found);
  if (isRemoved) return <p role="alert">{text('noBroker')}</p>;
  const broker = { ...found, connection };
  return <BrokerContext.Provider value={{ broker, renew }}>{children(broker, isLive)}</BrokerContext.Provider>;
}
