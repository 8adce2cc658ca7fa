import { useBroker } from '../broker/broker-context.ts';
import { Capabilities } from '../broker/capabilities.tsx';
import { Connection } from '../broker/connection.tsx';
import { License } from '../broker/license.tsx';
import { Listeners } from '../broker/listeners.tsx';
import { type Numbers, useLiveNumbers } from '../broker/live-numbers.ts';
import { overviewTexts } from '../broker/overview-texts.ts';
import { BrokerAttention } from '../problems/broker-attention.tsx';
import { useProjectProblems } from '../problems/project-problems.ts';
import { useTexts } from '../texts/texts.ts';
import { Problem } from '../ui/problem.tsx';
import { BrokerCharts } from './broker-charts.tsx';
import { BrokerFigures } from './broker-figures.tsx';
import { TopTraffic } from './top-traffic.tsx';
import '../broker/style.css';
import './style.css';

/** What a broker reports about itself, now and over time, and how the service connects to it. */
export function Overview() {
  const text = useTexts(overviewTexts);
  const broker = useBroker();
  const { id, connection } = broker;
  const { current, reason, isLive } = useLiveNumbers(id);
  // What the broker reports once is read again after each reconnect.
  const session = `${id} ${connection.state}`;
  // Without a connection, each part would repeat why there is none.
  const isConnected = connection.state === 'CONNECTED';
  const isListed = useProjectProblems().problems.some(
    ({ broker: of, detail, isSilenced }) => of?.id === id && detail === connection.lastError && !isSilenced,
  );
  return (
    <>
      <BrokerAttention brokerId={id} />
      {connection.lastError !== null && !isListed && (
        <p role="alert" lang="en">
          {connection.lastError}
        </p>
      )}
      {reason !== null && (
        <p role="alert" lang="en">
          {reason}
        </p>
      )}
      {current === null && reason === null && isConnected && <p>{text('noNumbers')}</p>}
      {current === undefined && <Problem error={null} />}
      {current && <BrokerFigures current={current} isLive={isLive} />}
      <BrokerCharts broker={broker} startedAt={current ? startOf(current) : null} />
      <TopTraffic key={id} brokerId={id} />
      <div className="sections">
        <Connection />
        {isConnected && <License key={`license ${session}`} version={current?.brokerVersion ?? null} />}
      </div>
      {isConnected && <Listeners key={`listeners ${session}`} />}
      {isConnected && <Capabilities key={`capabilities ${session}`} />}
    </>
  );
}

/** Times of different publications differ by a second or two. */
const ROUNDED_MS = 10_000;

function startOf({ asOf, uptimeSeconds }: Numbers): number | null {
  if (uptimeSeconds === null) return null;
  return Math.round((Date.parse(asOf) - uptimeSeconds * 1_000) / ROUNDED_MS) * ROUNDED_MS;
}
