import { Link } from 'wouter';
import { clientPath } from '../clients/client-address.ts';
import { useQuery } from '../graph/use-query.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { LongName } from '../ui/long-name.tsx';
import { Problem } from '../ui/problem.tsx';
import { topicTexts } from './texts.ts';
import { SUBSCRIBERS } from './topic-graph.ts';

const SHOWN = 20;
const EVERY_MS = 10_000;

/** The clients that subscribe to a topic, as far as the broker reports them. */
export function Subscribed({ brokerId, topic }: { readonly brokerId: string; readonly topic: string }) {
  const text = useTexts(topicTexts);
  const numberText = useNumbers();
  const { data, error } = useQuery(SUBSCRIBERS, { id: brokerId, topic, first: SHOWN }, EVERY_MS);
  const found = data?.broker?.topicSubscribers;
  const further = found ? found.totalCount - found.nodes.length : 0;
  return (
    <>
      <h3>{text('subscribers')}</h3>
      {!found && <Problem error={error} />}
      {found?.totalCount === 0 && <p>{text('noSubscriber')}</p>}
      <ul>
        {found?.nodes.map(({ clientId, nodeId, filter, qos, isConnected, isGateway }) => (
          <li key={`${clientId} ${nodeId} ${filter}`}>
            <Link href={clientPath(brokerId, clientId)}>
              <LongName>{clientId}</LongName>
            </Link>
            {isGateway && <span className="tag">{text('ofThisService')}</span>}
            {nodeId !== null && ` ${text('onNode', { node: numberText(nodeId) })}`} <code>{filter}</code>{' '}
            <span className="quiet">
              {text('qos', { qos: numberText(qos) })}
              {!isConnected && ` · ${text('offline')}`}
            </span>
          </li>
        ))}
      </ul>
      {further > 0 && <p>{text('further', { count: numberText(further) })}</p>}
      {found && !found.isComplete && <p className="quiet">{text('maybeMore')}</p>}
    </>
  );
}
