import { useState } from 'react';
import type { ResultOf } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { type Channel, TEST } from './channel-graph.ts';
import { ResponseOf } from './response-of.tsx';
import { channelTexts } from './texts.ts';

interface TestChannelProps {
  readonly channel: Channel;
  readonly onClose: () => void;
}

/** Sends a test message, and shows what the receiver responded. */
export function TestChannel({ channel: { id, name }, onClose }: TestChannelProps) {
  const text = useTexts(channelTexts);
  const { run, isBusy, error } = useMutation(TEST);
  const [outcome, setOutcome] = useState<ResultOf<typeof TEST>['testNotificationChannel'] | null>(null);
  const test = async () => {
    const tested = await run({ input: { channelId: id } });
    setOutcome(tested?.testNotificationChannel ?? null);
  };
  return (
    <Confirmation
      title={text('testOf', { name })}
      action={text(outcome === null ? 'sendTest' : 'sendTestAgain')}
      isBusy={isBusy}
      error={error}
      onConfirm={() => void test()}
      onClose={onClose}
      closes={text('close')}
    >
      <p>{text('testMeans')}</p>
      <div role="status">
        {isBusy && <p className="quiet">{text('testing')}</p>}
        {outcome !== null && !isBusy && (
          <>
            <p>
              <span className={`state ${outcome.isDelivered ? 'ACTIVE' : 'FAILED'}`}>
                {text(outcome.isDelivered ? 'arrived' : 'notArrived')}
              </span>
            </p>
            <ResponseOf outcome={outcome} />
          </>
        )}
      </div>
    </Confirmation>
  );
}
