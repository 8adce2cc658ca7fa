import { CircleCheck } from 'lucide-react';
import { useId } from 'react';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Refusal } from '../ui/problem.tsx';
import { MAX_SHOWN, OPEN_PROBLEMS } from './operations.ts';
import { ProblemItem } from './problem-item.tsx';
import { problemTexts } from './texts.ts';
import './style.css';

/** Problems open and close by themselves. */
const EVERY_MS = 2_000;

interface AttentionProps {
  /** Only problems of a broker. Default: of all that the person may see. */
  readonly brokerId?: string;
}

/** What is wrong now, the most urgent first. */
export function Attention({ brokerId }: AttentionProps) {
  const text = useTexts(problemTexts);
  const heading = useId();
  const filter = { isOpen: true, isSilenced: false, ...(brokerId !== undefined && { brokerIds: [brokerId] }) };
  const { data, error, renew } = useQuery(OPEN_PROBLEMS, { filter, first: MAX_SHOWN }, EVERY_MS);
  if (data === null) return <Refusal error={error} />;
  const { nodes, totalCount } = data.problems;
  if (totalCount === 0) {
    // A broker without problems needs no sentence about it.
    if (brokerId !== undefined) return null;
    return (
      <p className="all-well">
        <CircleCheck aria-hidden="true" /> {text('allWell')}
      </p>
    );
  }
  return (
    <section className="attention" aria-labelledby={heading}>
      <h2 id={heading}>
        {text('needsAttention')} <span className="count">{totalCount}</span>
      </h2>
      <ul>
        {nodes.map((problem) => (
          <ProblemItem key={problem.id} problem={problem} isOnBroker={brokerId !== undefined} onChanged={renew} />
        ))}
      </ul>
      {totalCount > nodes.length && <p className="quiet">{text('andMore', { count: totalCount - nodes.length })}</p>}
    </section>
  );
}
