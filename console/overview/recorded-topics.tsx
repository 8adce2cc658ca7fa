import { useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { Problem } from '../ui/problem.tsx';
import { Time } from '../ui/time.tsx';
import { chartsTexts } from './texts.ts';

const RECORDED = graphql(`query RecordedTopics($id: ID!) {
  broker(id: $id) {
    topicTree {
      topics(first: 10, orderBy: { field: MESSAGES, order: DESC }) { nodes { topic messages firstSeen } }
    }
  }
}`);

const EVERY_MS = 10_000;

/** Why the clients with the most traffic are not known, and what names them. */
export function Uncounted({ brokerId }: { readonly brokerId: string }) {
  const text = useTexts(chartsTexts);
  // A query starts the recording of all topics, which costs the broker a subscription.
  const [isWanted, setWanted] = useState(false);
  return (
    <>
      <p className="note">{text('notCounted')}</p>
      {isWanted ? (
        <RecordedTopics brokerId={brokerId} />
      ) : (
        <p>
          <button type="button" onClick={() => setWanted(true)}>
            {text('recordTopics')}
          </button>
        </p>
      )}
    </>
  );
}

/** The topics with the most messages, as far as they are recorded. */
function RecordedTopics({ brokerId }: { readonly brokerId: string }) {
  const text = useTexts(chartsTexts);
  const numberText = useNumbers();
  const { data, error } = useQuery(RECORDED, { id: brokerId }, EVERY_MS);
  const topics = data?.broker?.topicTree?.topics?.nodes;
  if (!topics) return <Problem error={error} />;
  return (
    <section className="card chart top" aria-label={text('recordedTopics')}>
      <h3>{text('recordedTopics')}</h3>
      {topics.length === 0 && <p>{text('noTopics')}</p>}
      <ol>
        {topics.map(({ topic, messages, firstSeen }) => (
          <li key={topic}>
            <span className="part" style={{ inlineSize: `${(100 * messages) / (topics[0]?.messages || 1)}%` }} />
            <span className="name">
              <code>{topic}</code>
            </span>
            <span className="number">
              {numberText(messages)}{' '}
              <small>
                <Time isRelative={true} at={firstSeen} />
              </small>
            </span>
          </li>
        ))}
      </ol>
      <p className="quiet">{text('recordedSince')}</p>
    </section>
  );
}
