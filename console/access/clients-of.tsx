import { useState } from 'react';
import { Link } from 'wouter';
import { BulkDisconnect } from '../clients/bulk-disconnect.tsx';
import { COUNTS, MAY } from '../clients/operations.ts';
import { useLive } from '../graph/live.ts';
import { useQuery } from '../graph/use-query.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { useAccess } from './access-context.ts';
import { clientsAddress } from './addresses.ts';
import { accessTexts } from './texts.ts';

/** The clients of an account, or of the members of a group: how many are connected, where they are, and their end. */
export function ClientsOf({ kind, name }: { readonly kind: 'account' | 'group'; readonly name: string }) {
  const text = useTexts(accessTexts);
  const numberText = useNumbers();
  const { brokerId } = useAccess();
  const filter = kind === 'group' ? { groupName: name } : { username: name };
  const { data: may } = useQuery(MAY, { id: brokerId });
  const { state: count } = useLive(
    COUNTS,
    { brokerId, filter },
    ({ connectedClients }) => connectedClients,
    (_before: number | null, { connectedCount }) => connectedCount ?? 0,
  );
  const [isDisconnecting, setDisconnecting] = useState(false);
  const canDisconnect = may?.broker?.viewerCanControlClients === true && count !== null && count > 0;
  return (
    <>
      <p>
        <Link href={clientsAddress(brokerId, kind === 'group' ? { group: name } : { username: name })}>
          {text(kind === 'group' ? 'clientsOfGroup' : 'clientsOfAccount')}
        </Link>{' '}
        {count !== null && <span className="quiet">{text('connectedNow', { count: numberText(count) })}</span>}{' '}
        {canDisconnect && (
          <button type="button" className="danger" onClick={() => setDisconnecting(true)}>
            {text(kind === 'group' ? 'disconnectMembers' : 'disconnectAccount')} …
          </button>
        )}
      </p>
      {isDisconnecting && (
        <BulkDisconnect
          brokerId={brokerId}
          title={text('disconnectClientsOf', { name })}
          filter={filter}
          totalCount={count ?? 0}
          connectedCount={count}
          onClose={() => setDisconnecting(false)}
        />
      )}
    </>
  );
}
