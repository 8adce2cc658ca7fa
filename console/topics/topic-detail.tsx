import { useState } from 'react';
import { useFresh } from '../graph/use-fresh.ts';
import { formatIn, payloadText } from '../messages/payload.ts';
import { FormatChoice, PayloadView } from '../messages/payload-view.tsx';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { Facts } from '../ui/facts.tsx';
import { PageHeading } from '../ui/page-heading.tsx';
import { Problem } from '../ui/problem.tsx';
import { Time } from '../ui/time.tsx';
import { PAUSE_MS } from './pause.ts';
import { Publisher } from './publisher.tsx';
import { Subscribed } from './subscribed.tsx';
import { topicTexts } from './texts.ts';
import { type Place, type RecordedTopic, TOPIC } from './topic-graph.ts';
import { WhoMay } from './who-may.tsx';

interface TopicDetailProps {
  readonly place: Place;
  readonly topic: string;
  readonly version: unknown;
}

/** What is known about a topic: its last payload, who may use it, and who subscribes to it. */
export function TopicDetail({ place, topic, version }: TopicDetailProps) {
  const text = useTexts(topicTexts);
  const numberText = useNumbers();
  const { data, error } = useFresh(TOPIC, { ...place, topic }, version, PAUSE_MS);
  const tree = data?.broker?.topicTree;
  if (!tree) return <Problem error={error} />;
  const recorded = tree.topic;
  const isPublished = place.kind === 'PUBLISHED';
  return (
    <>
      <PageHeading of="OBJECT">{topic === '' ? text('emptyLevel') : topic}</PageHeading>
      {recorded === null && <p className="quiet">{text('onlyBelow', { count: numberText(tree.count ?? 0) })}</p>}
      {recorded && tree.hasPayloads && isPublished && <LastPayload recorded={recorded} />}
      {recorded && (
        <Facts
          facts={[
            [text('lastSeen'), <Time key="last" at={recorded.lastSeen} />],
            [text('firstSeen'), <Time key="first" at={recorded.firstSeen} />],
            [text(isPublished ? 'messageCount' : 'subscriptionCount'), numberText(recorded.messages)],
            [
              text('size'),
              recorded.payloadBytes !== null && text('bytes', { count: numberText(recorded.payloadBytes) }),
            ],
            [text('retain'), isPublished && tree.reportsRetain && text(recorded.retain ? 'yes' : 'no')],
            [text('nodes'), recorded.nodeIds.join(', ')],
          ]}
        >
          {isPublished && <Publisher brokerId={place.id} topic={topic} version={version} />}
        </Facts>
      )}
      {isPublished && (
        <>
          <WhoMay brokerId={place.id} topic={topic} action="PUBLISH" />
          <WhoMay brokerId={place.id} topic={topic} action="RECEIVE" />
          <Subscribed brokerId={place.id} topic={topic} />
        </>
      )}
      {!isPublished && <WhoMay brokerId={place.id} topic={topic} action="SUBSCRIBE" />}
    </>
  );
}

function LastPayload({ recorded }: { readonly recorded: RecordedTopic }) {
  const text = useTexts(topicTexts);
  const [format, setFormat] = useState(formatIn(null));
  if (recorded.payloadBase64 === null) return <p className="quiet">{text('noPayload')}</p>;
  return (
    <>
      <header className="screen">
        <h3>{text('lastPayload')}</h3>
        <FormatChoice format={format} onFormat={setFormat} />
      </header>
      <PayloadView label={text('lastPayload')}>{payloadText(recorded, format)}</PayloadView>
      {recorded.isPayloadTruncated && <p className="quiet">{text('truncated')}</p>}
    </>
  );
}
