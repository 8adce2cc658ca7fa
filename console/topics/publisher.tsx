import { Link } from 'wouter';
import { clientPath } from '../clients/client-address.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { useTexts } from '../texts/texts.ts';
import { Time } from '../ui/time.tsx';
import { PAUSE_MS } from './pause.ts';
import { topicTexts } from './texts.ts';
import { LAST_PUBLISHER } from './topic-graph.ts';

interface PublisherProps {
  readonly brokerId: string;
  readonly topic: string;
  readonly version: unknown;
}

/** The client that published to a topic last, or why it is unknown. */
export function Publisher({ brokerId, topic, version }: PublisherProps) {
  const text = useTexts(topicTexts);
  const { data, error } = useFresh(LAST_PUBLISHER, { id: brokerId, topic }, version, PAUSE_MS);
  if (data === null && error === null) return null;
  const publisher = data?.broker?.lastPublisher;
  return (
    <>
      <dt>{text('lastPublisher')}</dt>
      <dd>
        {publisher ? (
          <>
            <Link href={clientPath(brokerId, publisher.clientId)}>{publisher.clientId}</Link>{' '}
            <span className="quiet">
              <Time isRelative={true} at={publisher.at} />
            </span>
          </>
        ) : (
          <span className="quiet">{text(error === null ? 'notPublished' : reasonIn(error.code))}</span>
        )}
      </dd>
    </>
  );
}

const reasonIn = (code: string) => (code === 'NOT_SUPPORTED_BY_BROKER' ? 'publisherUnsupported' : 'unknown');
