import { useEffect, useState } from 'react';
import { useMutation } from '../graph/use-mutation.ts';
import { useQuery } from '../graph/use-query.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { AsSent } from '../ui/as-sent.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { MAX_NAMES, Names } from './names.tsx';
import { CLIENTS, DISCONNECT, type DisconnectReport } from './operations.ts';
import { Outcome } from './outcome.tsx';
import type { Filter } from './selection.ts';
import { clientsTexts } from './texts.ts';

/** The largest number of clients that the service changes at once. */
export const MAX_CLIENTS = 100_000;
/** Above this number of selected clients, only the counts of the results are shown. */
const MAX_RESULTS = 1_000;

interface BulkDisconnectProps {
  readonly brokerId: string;
  readonly title: string;
  /** Selects clients, of which the connected ones are disconnected. */
  readonly filter: Filter;
  readonly totalCount: number;
  /** Number of selected clients that are connected now; `null` if it is unknown. */
  readonly connectedCount: number | null;
  readonly onClose: () => void;
}

/** Shows which of the selected clients would be disconnected, and disconnects them. */
export function BulkDisconnect(props: BulkDisconnectProps) {
  const { brokerId, title, totalCount, connectedCount, onClose } = props;
  const text = useTexts(clientsTexts);
  const numberText = useNumbers();
  // The list behind the dialog goes on, but the dialog is about the clients that were selected when it was opened.
  const [filter] = useState({ ...props.filter, isConnected: true });
  const [withResults] = useState(totalCount <= MAX_RESULTS);
  const [force, setForce] = useState(false);
  const [discardWill, setDiscardWill] = useState(false);
  const [preview, setPreview] = useState<DisconnectReport | null>(null);
  const [report, setReport] = useState<DisconnectReport | null>(null);
  const dryRun = useMutation(DISCONNECT);
  const run = useMutation(DISCONNECT);
  const names = useQuery(CLIENTS, { id: brokerId, filter, first: MAX_NAMES, withDrops: false });
  const look = async () => {
    setPreview(null);
    const input = { brokerId, filter, force, discardWill, dryRun: true, limit: MAX_CLIENTS };
    const found = await dryRun.run({ input, withResults });
    setPreview(found?.disconnectClients ?? null);
  };
  useEffect(() => {
    void look();
  }, [force, discardWill]);
  const confirm = async () => {
    if (preview === null) return;
    // If more clients match meanwhile, none is disconnected.
    const input = { brokerId, filter, force, discardWill, dryRun: false, limit: Math.max(1, selectedIn(preview)) };
    const done = await run.run({ input, withResults });
    if (done) setReport(done.disconnectClients);
    else await look();
  };
  if (report) return <Outcome title={title} report={report} onClose={onClose} />;
  const count = preview?.wouldDisconnectCount ?? 0;
  const found = names.data?.broker?.connectedClients;
  const results = preview?.results ?? [];
  const refused = results.filter(({ status }) => status === 'REFUSED');
  const concerned = results.filter(({ status }) => status === 'WOULD_DISCONNECT').map(({ clientId }) => clientId);
  return (
    <Confirmation
      title={title}
      action={count === 1 ? text('disconnectOne') : text('disconnectCount', { count: numberText(count) })}
      isDestructive={true}
      isBusy={run.isBusy}
      isReady={count > 0}
      error={run.error ?? dryRun.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      {preview === null && dryRun.isBusy && <p aria-busy="true">{text('dryRunRuns')}</p>}
      {preview && (
        <>
          <p>
            <strong>
              {count === 1 ? text('wouldDisconnectOne') : text('wouldDisconnect', { count: numberText(count) })}
            </strong>{' '}
            {text('theyReconnect')}
          </p>
          {!preview.isComplete && <p className="note">{text('mayBeMore')}</p>}
          {count > 0 && withResults && <Names title={text('whichClients')} names={concerned} total={count} />}
          {count > 0 && !withResults && found && (
            <Names
              title={text('someSelected')}
              names={found.nodes.map(({ clientId }) => clientId)}
              total={found.totalCount}
            />
          )}
          {preview.alsoDisconnected.length > 0 && (
            <>
              <p role="alert">{text('alsoWould', { count: numberText(preview.alsoDisconnected.length) })}</p>
              <Names
                title={text('whichOthers')}
                names={preview.alsoDisconnected}
                total={preview.alsoDisconnected.length}
              />
            </>
          )}
          {preview.refusedCount > 0 && (
            <p>
              {text('wouldRefuse', { count: numberText(preview.refusedCount) })}{' '}
              <AsSent>{refused[0]?.error?.message}</AsSent>
            </p>
          )}
        </>
      )}
      {(force || (preview !== null && preview.refusedCount > 0)) && (
        <label>
          <input type="checkbox" checked={force} onChange={({ currentTarget }) => setForce(currentTarget.checked)} />{' '}
          {text('force')}
        </label>
      )}
      <label>
        <input
          type="checkbox"
          checked={discardWill}
          onChange={({ currentTarget }) => setDiscardWill(currentTarget.checked)}
        />{' '}
        {text('discardWill')}
      </label>
      {run.isBusy && (
        <p role="status">
          <progress aria-label={title} />{' '}
          {connectedCount !== null && text('stillConnected', { count: numberText(connectedCount) })}
        </p>
      )}
    </Confirmation>
  );
}

const selectedIn = (preview: DisconnectReport): number =>
  preview.wouldDisconnectCount + preview.refusedCount + preview.notFoundCount + preview.failedCount;
