import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { useBytes } from '../broker/units.ts';
import { clientPath } from '../clients/client-address.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { LongName } from '../ui/long-name.tsx';
import { Problem } from '../ui/problem.tsx';
import { Uncounted } from './recorded-topics.tsx';
import { chartsTexts } from './texts.ts';
import { TopList } from './top-list.tsx';
import { TOP_TRAFFIC } from './traffic.ts';

const EVERY_MS = 10_000;
const WINDOWS = ['MINUTE', 'HOUR'] as const;
const CLIENT_MEASURES = ['MESSAGES_IN', 'MESSAGES_OUT', 'BYTES_IN', 'BYTES_OUT'] as const;

/** The clients and the topics with the most traffic. */
export function TopTraffic({ brokerId }: { readonly brokerId: string }) {
  const text = useTexts(chartsTexts);
  const bytesText = useBytes();
  const [chosen, choose] = useState<(typeof WINDOWS)[number] | null>(null);
  const [isQuiet, setQuiet] = useState(false);
  const last = chosen ?? (isQuiet ? 'HOUR' : 'MINUTE');
  const [by, setBy] = useState<(typeof CLIENT_MEASURES)[number]>('MESSAGES_IN');
  const isBytes = by.startsWith('BYTES');
  const variables = { id: brokerId, last, clients: by, topics: isBytes ? 'BYTES_IN' : 'MESSAGES_IN' } as const;
  const { data, error } = useQuery(TOP_TRAFFIC, variables, EVERY_MS);
  const { topClients, topTopics } = data?.broker ?? {};
  // The shortest time that has traffic.
  const isEmpty = last === 'MINUTE' && topClients?.total === 0;
  useEffect(() => {
    if (isEmpty) setQuiet(true);
  }, [isEmpty]);
  // The screen says already that the broker cannot be reached.
  if (error?.code === 'BROKER_UNREACHABLE' && !topClients) return null;
  const isUncounted = error?.code === 'NOT_SUPPORTED_BY_BROKER';
  const shared = { isBytes, bytesText };
  return (
    <section aria-label={text('topTraffic')} className="top-traffic">
      <header className="screen">
        <h2>{text('topTraffic')}</h2>
        {!isUncounted && (
          <>
            <fieldset className="choices" aria-label={text('topTime')}>
              {WINDOWS.map((one) => (
                <button key={one} type="button" aria-pressed={last === one} onClick={() => choose(one)}>
                  {text(one)}
                </button>
              ))}
            </fieldset>
            <select
              aria-label={text('topBy')}
              value={by}
              onChange={({ currentTarget: { value } }) => setBy(CLIENT_MEASURES.find((one) => one === value) ?? by)}
            >
              {CLIENT_MEASURES.map((one) => (
                <option key={one} value={one}>
                  {text(one)}
                </option>
              ))}
            </select>
          </>
        )}
      </header>
      {isUncounted && <Uncounted brokerId={brokerId} />}
      {!(isUncounted || (topClients && topTopics)) && <Problem error={error} />}
      {topClients && topTopics && (
        <>
          <div className="charts">
            <TopList
              {...shared}
              title={text('topClients')}
              top={topClients}
              nameOf={(name) => (
                <Link href={clientPath(brokerId, name)}>
                  <LongName>{name}</LongName>
                </Link>
              )}
            />
            <TopList {...shared} title={text('topTopics')} top={topTopics} nameOf={(name) => <code>{name}</code>} />
          </div>
          <p className="screen">
            <span className="quiet hint">{text('topSource')}</span>
            <CopyAs document={TOP_TRAFFIC} variables={variables} />
          </p>
        </>
      )}
    </section>
  );
}
