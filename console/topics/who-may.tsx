import { Link } from 'wouter';
import { useQuery } from '../graph/use-query.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { Problem } from '../ui/problem.tsx';
import { topicTexts } from './texts.ts';
import { WHO_CAN } from './topic-graph.ts';

interface WhoMayProps {
  readonly brokerId: string;
  readonly topic: string;
  readonly action: 'PUBLISH' | 'RECEIVE' | 'SUBSCRIBE';
}

/** Number of accounts that are named here. */
const NAMED = 10;

/** The accounts that may use a topic, and where the rules are explained. */
export function WhoMay({ brokerId, topic, action }: WhoMayProps) {
  const text = useTexts(topicTexts);
  const numberText = useNumbers();
  const { data, error } = useQuery(WHO_CAN, { id: brokerId, topic, action, first: NAMED });
  const query = new URLSearchParams({ action, topic });
  const grantees = data?.whoCan;
  const further = (grantees?.totalCount ?? 0) - (grantees?.nodes.length ?? 0);
  return (
    <>
      <header className="screen">
        <h3>{text(action)}</h3>
        <Link href={`/brokers/${brokerId}/why?${query}`}>{text(`why${action}`)}</Link>
      </header>
      {!grantees && <Problem error={error} />}
      {grantees && (
        <p>
          {grantees.nodes.length === 0 && text('nobody')}
          {grantees.nodes
            .map(({ username, conditional }) => {
              const name = username ?? text('anonymous');
              return conditional ? text('conditional', { name }) : name;
            })
            .join(', ')}
          {further > 0 && ` ${text('further', { count: numberText(further) })}`}
        </p>
      )}
    </>
  );
}
