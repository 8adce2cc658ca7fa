import { useTexts } from '../texts/texts.ts';
import { BulkDisconnect } from './bulk-disconnect.tsx';
import { DeleteSessions } from './delete-sessions.tsx';
import { clientsTexts } from './texts.ts';

interface EndClientProps {
  readonly brokerId: string;
  readonly clientId: string;
  /** Whether the client is disconnected. Otherwise its session is deleted. */
  readonly isConnected: boolean;
  readonly onClose: () => void;
}

/** Asks whether to disconnect one client, or to delete its session if it is offline. */
export function EndClient({ brokerId, clientId, isConnected, onClose }: EndClientProps) {
  const text = useTexts(clientsTexts);
  const filter = { clientIds: [clientId] };
  return isConnected ? (
    <BulkDisconnect
      brokerId={brokerId}
      title={text('disconnectTitle', { client: clientId })}
      filter={filter}
      totalCount={1}
      connectedCount={null}
      onClose={onClose}
    />
  ) : (
    <DeleteSessions
      brokerId={brokerId}
      title={text('deleteSessionOf', { client: clientId })}
      filter={filter}
      onClose={onClose}
    />
  );
}
