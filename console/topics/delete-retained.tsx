import { useEffect, useState } from 'react';
import { ask } from '../graph/ask.ts';
import type { ResultOf } from '../graph/graphql.ts';
import { useLive } from '../graph/live.ts';
import type { RefusedError } from '../graph/refused.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { AsSent } from '../ui/as-sent.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { topicTexts } from './texts.ts';
import { DELETE_RETAINED, DELETION, type Deletion } from './topic-graph.ts';

/** The branch or the topics whose retained messages are deleted. */
export type Selection = { readonly filter: string } | { readonly topics: string[] };

interface DeleteRetainedProps {
  readonly brokerId: string;
  readonly selection: Selection;
  /** `isChanged`: whether a deletion ran. */
  readonly onClose: (isChanged: boolean) => void;
}

const EXAMPLES = 10;

/** Shows by a dry run what would be deleted, deletes it, and reports the result. */
export function DeleteRetained({ brokerId, selection, onClose }: DeleteRetainedProps) {
  const text = useTexts(topicTexts);
  const numberText = useNumbers();
  const [plan, setPlan] = useState<Deletion | null>(null);
  const [planError, setPlanError] = useState<RefusedError | null>(null);
  const [result, setResult] = useState<Deletion | null>(null);
  const { run, isBusy, error } = useMutation(DELETE_RETAINED);
  useEffect(() => {
    const look = async () => {
      const planned = await ask(DELETE_RETAINED, { input: { brokerId, ...selection, dryRun: true } });
      setPlan(planned.data?.deleteRetainedMessages.deletion ?? null);
      setPlanError(planned.error);
    };
    void look();
  }, []);
  const confirm = async () => {
    const done = await run({ input: { brokerId, ...selection } });
    if (done) setResult(done.deleteRetainedMessages.deletion);
  };
  const close = () => onClose(isBusy || result !== null || error !== null);
  if (result) {
    return (
      <Dialog title={text('deletionResult')} onClose={close}>
        <Result deletion={result} />
        <p className="buttons">
          <button type="button" onClick={close}>
            {text('close')}
          </button>
        </p>
      </Dialog>
    );
  }
  const count = plan?.wouldDeleteCount ?? 0;
  const examples = plan?.results.filter(({ status }) => status === 'WOULD_DELETE') ?? [];
  return (
    <Confirmation
      title={text('deleteRetained')}
      action={text(count === 1 ? 'deleteOne' : 'deleteCount', { count: plan ? numberText(count) : '…' })}
      isDestructive={true}
      isBusy={isBusy}
      isReady={count > 0}
      error={error ?? planError}
      onConfirm={() => void confirm()}
      onClose={close}
    >
      {!plan && !planError && <p aria-busy="true">{text('planning')}</p>}
      {plan && <p>{text(count === 0 ? 'nothingToDelete' : 'wouldDelete', { count: numberText(count) })}</p>}
      {plan?.isComplete === false && (
        <p className="note">{plan.problem === null ? text('UNPROVEN') : <AsSent>{plan.problem}</AsSent>}</p>
      )}
      {examples.length > 0 && (
        <ul className="whole">
          {examples.slice(0, EXAMPLES).map(({ topic }) => (
            <li key={topic}>{topic}</li>
          ))}
        </ul>
      )}
      {count > EXAMPLES && <p>{text('further', { count: numberText(count - EXAMPLES) })}</p>}
      {isBusy && <Progress brokerId={brokerId} />}
    </Confirmation>
  );
}

type DeletionEvent = ResultOf<typeof DELETION>['retainedDeletion'];
const latest = (_before: unknown, { deletion }: DeletionEvent) => ({ deletion });

function Progress({ brokerId }: { readonly brokerId: string }) {
  const text = useTexts(topicTexts);
  const numberText = useNumbers();
  const { state } = useLive(DELETION, { brokerId }, ({ retainedDeletion }) => retainedDeletion, latest);
  const deletion = state?.deletion;
  if (!deletion || deletion.isDryRun) return <p aria-busy="true">{text('deleting')}</p>;
  const done = deletion.deletedCount + deletion.acknowledgedCount;
  return (
    <div role="status">
      <progress aria-label={text('deleting')} max={Math.max(deletion.total, 1)} value={done} />
      <p>
        {text(`deletion${deletion.state}`, { done: numberText(done), total: numberText(deletion.total) })}{' '}
        <AsSent>{deletion.problem}</AsSent>
      </p>
    </div>
  );
}

function Result({ deletion }: { readonly deletion: Deletion }) {
  const text = useTexts(topicTexts);
  const numberText = useNumbers();
  const counts = [
    ['DELETED', deletion.deletedCount],
    ['ACKNOWLEDGED', deletion.acknowledgedCount],
    ['REMAINS', deletion.remainingCount],
    ['REFUSED', deletion.refusedCount],
    ['UNKNOWN', deletion.unknownCount],
    ['NOT_FOUND', deletion.notFoundCount],
  ] as const;
  const failed = deletion.results.filter(({ status }) => status !== 'DELETED' && status !== 'ACKNOWLEDGED');
  return (
    <>
      <ul role="status">
        {counts
          .filter(([status, count]) => status === 'DELETED' || count > 0)
          .map(([status, count]) => (
            <li key={status}>{text(status, { count: numberText(count) })}</li>
          ))}
      </ul>
      {deletion.problem !== null && (
        <p role="alert" lang="en">
          {deletion.problem}
        </p>
      )}
      {!deletion.isComplete && <p className="note">{text('mayRemain')}</p>}
      {failed.length > 0 && (
        <ul className="whole">
          {failed.slice(0, EXAMPLES).map(({ topic, error }) => (
            <li key={topic}>
              {topic} <AsSent>{error?.message}</AsSent>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
