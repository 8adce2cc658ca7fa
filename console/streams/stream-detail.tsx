import { Fragment } from 'react';
import { useLive } from '../graph/live.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { AsSent } from '../ui/as-sent.tsx';
import { type Fact, Facts } from '../ui/facts.tsx';
import { PageHeading } from '../ui/page-heading.tsx';
import { Refusal } from '../ui/problem.tsx';
import { Time } from '../ui/time.tsx';
import { ClearStream } from './clear-stream.tsx';
import { REPLAYED, type ReplayEvent, STOP_REPLAY, type Stream } from './stream-graph.ts';
import { streamTexts } from './texts.ts';

/** One stream: what is wrong with it, its storage, and its replay. */
export function StreamDetail({ brokerId, stream }: { readonly brokerId: string; readonly stream: Stream }) {
  const text = useTexts(streamTexts);
  const numberText = useNumbers();
  const { name, textDescription, problem, storage, messageCount, counters, persist } = stream;
  const stored = storage?.messages ?? messageCount;
  return (
    <section aria-label={text('stream', { name })}>
      <PageHeading of="OBJECT">{text('stream', { name })}</PageHeading>
      {textDescription && <p>{textDescription}</p>}
      {problem !== null && (
        <p role="alert" lang="en">
          {problem}
        </p>
      )}
      {storage?.problem && (
        <p role="alert" lang="en">
          {storage.problem}
        </p>
      )}
      <Facts
        facts={[
          [text('storedMessages'), stored === null ? '–' : numberText(stored)],
          [
            text('storedTimes'),
            storage?.oldest && (
              <Fragment key="times">
                <Time at={storage.oldest} /> – <Time at={storage.newest} />
              </Fragment>
            ),
          ],
          ...(['lastFiltered', 'lastError'] as const).map((key): Fact => {
            const last = counters?.[key];
            return [
              text(key),
              last && (
                <Fragment key={key}>
                  <AsSent>{last.reason}</AsSent> (<Time at={last.at} />)
                </Fragment>
              ),
            ];
          }),
        ]}
      />
      {stored !== null && stored > 0 && stream.viewerCanUpdate && (
        <ClearStream brokerId={brokerId} name={name} count={stored} />
      )}
      {persist && <Replay brokerId={brokerId} name={name} canStop={stream.viewerCanUpdate} />}
    </section>
  );
}

const latest = (_before: unknown, event: ReplayEvent) => event;

interface ReplayProps {
  readonly brokerId: string;
  readonly name: string;
  readonly canStop: boolean;
}

function Replay({ brokerId, name, canStop }: ReplayProps) {
  const text = useTexts(streamTexts);
  const numberText = useNumbers();
  const { state } = useLive(REPLAYED, { brokerId, streamName: name }, ({ streamReplay }) => streamReplay, latest);
  const { run, isBusy, error } = useMutation(STOP_REPLAY);
  if (!state) return null;
  const { replay, isReplaying } = state;
  return (
    <>
      <h3>{text('replay')}</h3>
      {!replay && <p className="quiet">{text(isReplaying ? 'replayRuns' : 'noReplay')}</p>}
      {replay && (
        <div role="status">
          <progress aria-label={text('replay')} max={Math.max(replay.total, 1)} value={replay.published} />
          <p>
            {text(`replay${replay.state}`, { topic: replay.topic })}{' '}
            {text('replayed', { published: numberText(replay.published), total: numberText(replay.total) })}{' '}
            <AsSent>{replay.problem}</AsSent>
          </p>
        </div>
      )}
      {isReplaying && canStop && (
        <button type="button" disabled={isBusy} onClick={() => void run({ input: { brokerId, name } })}>
          {text('stopReplay')}
        </button>
      )}
      <Refusal error={error} />
    </>
  );
}
