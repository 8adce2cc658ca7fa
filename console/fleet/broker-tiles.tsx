import { Link } from 'wouter';
import { useTexts } from '../texts/texts.ts';
import { Hour, Problems, Published, State } from './broker-parts.tsx';
import { fleetTexts } from './texts.ts';
import type { Shown } from './use-brokers.ts';

export function BrokerTiles({ label, brokers }: { readonly label: string; readonly brokers: readonly Shown[] }) {
  const text = useTexts(fleetTexts);
  return (
    <ul className="tiles" aria-label={label}>
      {brokers.map((broker) => (
        <li key={broker.id} className={`card ${broker.isLive ? broker.connection.state : ''}`}>
          <p className="tile-head">
            <Link href={`/brokers/${broker.id}`}>{broker.name}</Link>
            <Problems broker={broker} />
          </p>
          <State broker={broker} />
          <dl>
            <div>
              <dt>{text('clients')}</dt>
              <dd>
                <Published broker={broker} of="clients" />
              </dd>
            </div>
            <div>
              <dt>{text('receivedShort')}</dt>
              <dd>
                <Published broker={broker} of="received" />
              </dd>
            </div>
          </dl>
          <Hour broker={broker} />
        </li>
      ))}
    </ul>
  );
}
