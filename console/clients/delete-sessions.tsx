import { useEffect, useState } from 'react';
import type { ResultOf } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { AsSent } from '../ui/as-sent.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { useNotices } from '../ui/notices.tsx';
import { MAX_CLIENTS } from './bulk-disconnect.tsx';
import { Names } from './names.tsx';
import { DELETE_SESSIONS } from './operations.ts';
import type { Filter } from './selection.ts';
import { clientsTexts } from './texts.ts';

type Report = ResultOf<typeof DELETE_SESSIONS>['deleteClientSessions'];

interface DeleteSessionsProps {
  readonly brokerId: string;
  readonly title: string;
  /** Selects clients, of which the offline ones lose their sessions. */
  readonly filter: Filter;
  readonly onClose: () => void;
}

/** Names the selected offline clients, or states why the broker cannot delete sessions, and deletes their sessions. */
export function DeleteSessions({ brokerId, title, filter, onClose }: DeleteSessionsProps) {
  const text = useTexts(clientsTexts);
  const numberText = useNumbers();
  const notify = useNotices();
  const [selected] = useState({ ...filter, isConnected: false });
  const dryRun = useMutation(DELETE_SESSIONS);
  const deletion = useMutation(DELETE_SESSIONS);
  const [preview, setPreview] = useState<Report | null>(null);
  const [failure, setFailure] = useState<Report['results'][number] | null>(null);
  const look = async () => {
    const found = await dryRun.run({ input: { brokerId, filter: selected, dryRun: true, limit: MAX_CLIENTS } });
    setPreview(found?.deleteClientSessions ?? null);
  };
  useEffect(() => {
    void look();
  }, []);
  const names =
    preview?.results.filter(({ status }) => status === 'WOULD_DELETE').map(({ clientId }) => clientId) ?? [];
  const confirm = async () => {
    // If more clients match meanwhile, no session is deleted.
    const done = await deletion.run({ input: { brokerId, filter: selected, limit: Math.max(1, names.length) } });
    if (done === null) return look();
    const { deletedCount, results } = done.deleteClientSessions;
    const failed = results.find(({ error }) => error !== null);
    if (deletedCount > 0) notify(text('sessionsDeleted', { count: numberText(deletedCount) }));
    if (failed === undefined) return onClose();
    setFailure(failed);
    return look();
  };
  return (
    <Confirmation
      title={title}
      action={text('deleteSessions', { count: numberText(names.length) })}
      isDestructive={true}
      isBusy={deletion.isBusy}
      isReady={names.length > 0}
      error={deletion.error ?? dryRun.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      {preview === null && dryRun.isBusy && <p aria-busy="true">{text('dryRunRuns')}</p>}
      {preview && names.length === 0 && <p>{text('noSessions')}</p>}
      {names.length > 0 && (
        <>
          <p>{text('sessionsMean', { count: numberText(names.length) })}</p>
          <Names title={text('whichClients')} names={names} total={names.length} />
        </>
      )}
      {failure !== null && (
        <p role="alert">
          {failure.clientId}: <AsSent>{failure.error?.message}</AsSent>
        </p>
      )}
    </Confirmation>
  );
}
