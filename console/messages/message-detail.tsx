import { Link } from 'wouter';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { Time } from '../ui/time.tsx';
import { diffOf } from './diff.ts';
import type { TailedMessage } from './message-tail.ts';
import { type Format, payloadText } from './payload.ts';
import { PayloadView } from './payload-view.tsx';
import { messageTexts } from './texts.ts';

interface MessageDetailProps {
  readonly brokerId: string;
  readonly message: TailedMessage;
  readonly format: Format;
  readonly onClose: () => void;
}

/** A message with its whole payload, and what changed since the previous one of the topic. */
export function MessageDetail({ brokerId, message, format, onClose }: MessageDetailProps) {
  const text = useTexts(messageTexts);
  const numberText = useNumbers();
  const { topic, receivedAt, payloadBytes, qos, retain, isTruncated, previous } = message;
  return (
    <section aria-label={text('message')} className="card message">
      <header className="screen">
        <h2>{topic}</h2>
        <button type="button" onClick={onClose}>
          {text('close')}
        </button>
      </header>
      <p>
        <Time at={receivedAt} />, {text('size', { count: numberText(payloadBytes) })}, QoS {qos}
        {retain && `, ${text('retained')}`}{' '}
        <Link href={`/brokers/${brokerId}/topics?${new URLSearchParams({ topic })}`}>{text('showTopic')}</Link>
      </p>
      <PayloadView label={text('payload')}>{payloadText(message, format)}</PayloadView>
      {isTruncated && <p className="quiet">{text('truncated')}</p>}
      {previous === null ? (
        <p className="quiet">{text('noPrevious')}</p>
      ) : (
        <>
          <h3>
            {text('changed')} <Time at={previous.receivedAt} />
          </h3>
          <PayloadView label={text('changed')}>
            <Changes before={comparable(previous, format)} after={comparable(message, format)} />
          </PayloadView>
        </>
      )}
    </section>
  );
}

/** JSON is compared line by line. */
const comparable = (payload: Parameters<typeof payloadText>[0], format: Format): string =>
  payloadText(payload, format === 'auto' ? 'json' : format);

function Changes({ before, after }: { readonly before: string; readonly after: string }) {
  const text = useTexts(messageTexts);
  if (before === after) return <>{text('unchanged')}</>;
  return (
    <>
      {diffOf(before, after).map((line, index) => {
        // Lines have no identity of their own.
        const key = `${index} ${line.kind}`;
        if (line.kind === 'added') return <ins key={key}>{`+ ${line.text}\n`}</ins>;
        if (line.kind === 'removed') return <del key={key}>{`- ${line.text}\n`}</del>;
        return <span key={key}>{`  ${line.text}\n`}</span>;
      })}
    </>
  );
}
