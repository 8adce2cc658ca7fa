import { BrokerAttention } from '../problems/broker-attention.tsx';
import { useTexts } from '../texts/texts.ts';
import { useBroker } from './broker-context.ts';
import { Capabilities } from './capabilities.tsx';
import { Charts } from './charts.tsx';
import { Connection } from './connection.tsx';
import { License } from './license.tsx';
import { Listeners } from './listeners.tsx';
import { useLiveNumbers } from './live-numbers.ts';
import { CurrentNumbers } from './numbers.tsx';
import { overviewTexts } from './overview-texts.ts';
import './style.css';

/** What a broker reports about itself, and how the service connects to it. */
export function Overview() {
  const text = useTexts(overviewTexts);
  const { id, project, connection } = useBroker();
  const { current, reason, isLive } = useLiveNumbers(id);
  // What the broker reports once is read again after each reconnect.
  const session = `${id} ${connection.state}`;
  return (
    <>
      <BrokerAttention brokerId={id} projectId={project.id} />
      {connection.lastError !== null && <p role="alert">{connection.lastError}</p>}
      {reason !== null && <p role="alert">{reason}</p>}
      {current === null && reason === null && <p>{text('noNumbers')}</p>}
      {current === undefined && <p aria-busy="true">{text('loading')}</p>}
      {current && <CurrentNumbers current={current} isLive={isLive} />}
      <Charts brokerId={id} />
      <div className="sections">
        <Connection />
        <License key={`license ${session}`} version={current?.brokerVersion ?? null} />
      </div>
      <Listeners key={`listeners ${session}`} />
      <Capabilities key={`capabilities ${session}`} />
    </>
  );
}
