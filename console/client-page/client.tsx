import { useRef, useState } from 'react';
import { Link } from 'wouter';
import { useBroker } from '../broker/broker-context.ts';
import { BulkDisconnect } from '../clients/bulk-disconnect.tsx';
import { connectionKey } from '../clients/client-columns.tsx';
import { subscribeCommand } from '../clients/subscribe-command.ts';
import { clientsTexts } from '../clients/texts.ts';
import { useLive } from '../graph/live.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Age } from '../ui/age.tsx';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { CopyAs } from '../ui/copy-as.tsx';
import { PageHeading } from '../ui/page-heading.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { Time } from '../ui/time.tsx';
import { AccessOfClient } from './access-of-client.tsx';
import { clientOf, receive } from './client-state.ts';
import { ConnectionOfClient } from './connection-of-client.tsx';
import { ACCESS, CLIENT, NUMBERS } from './operations.ts';
import { QueueOfClient } from './queue-of-client.tsx';
import { RefusalsOfClient } from './refusals-of-client.tsx';
import { SubscriptionsOfClient } from './subscriptions-of-client.tsx';
import { clientTexts } from './texts.ts';
import { TopicTest } from './topic-test.tsx';
import { UnknownFields } from './unknown-fields.tsx';
import './style.css';

/** Intervals of reading what sends no events to this screen, in milliseconds. */
const NUMBERS_MS = 1_000;
const ACCESS_MS = 5_000;

interface ClientProps {
  readonly clientId: string;
}

/** One client: its connection and session live, what it may do, and what it was refused. */
export function Client({ clientId }: ClientProps) {
  const text = useTexts(clientTexts);
  const listText = useTexts(clientsTexts);
  const { id: brokerId, url } = useBroker();
  const { state, isLive } = useLive(
    CLIENT,
    { brokerId, clientIds: [clientId] },
    ({ connectedClients }) => connectedClients,
    receive,
  );
  const numbers = useQuery(NUMBERS, { id: brokerId, clientId }, NUMBERS_MS);
  const access = useQuery(ACCESS, { id: brokerId, clientId }, ACCESS_MS);
  const [isDisconnecting, setDisconnecting] = useState(false);
  const client = clientOf(state);
  // The form of the test stays as it is if the client leaves.
  const username = useRef<string | null>(null);
  if (client) username.current = client.username;
  const isConnected = client?.isConnected === true;
  const known = numbers.data?.broker?.connectedClient;
  const held = access.data?.broker;
  return (
    <>
      <p>
        <Link href={`/brokers/${brokerId}/clients`}>← {text('clients')}</Link>
      </p>
      <header className="screen client-name">
        <PageHeading of="OBJECT">{clientId}</PageHeading>
        {state && (
          <span role="status" className={isLive ? stateClass(isConnected) : 'stale'}>
            {client ? listText(connectionKey(client.isConnected)) : text('absent')}
          </span>
        )}
        {client?.isGateway && <span className="quiet">{listText('isGateway')}</span>}
        {client?.isBridge && <span className="quiet">{listText('bridge')}</span>}
        {held?.viewerCanControlClients && isConnected && !client.isGateway && (
          <button type="button" className="danger" onClick={() => setDisconnecting(true)}>
            {text('disconnect')} …
          </button>
        )}
        <CopyAs document={NUMBERS} variables={{ id: brokerId, clientId }} />
      </header>
      {!state && <Problem error={numbers.error} />}
      {state && !client && (
        <>
          <p>{text('absentHint')}</p>
          <CommandToCopy command={subscribeCommand(url, clientId)} />
        </>
      )}
      {client && !isConnected && (
        <p className="note">
          {text('offlineSince')} <Time at={client.lastDisconnectedAt} />
          {client.disconnectReason && ` (${client.disconnectReason})`}
        </p>
      )}
      {client && (
        <div className="client-cards">
          <ConnectionOfClient client={client} unknown={new Set(known?.unknownFields?.map(({ field }) => field))} />
          <QueueOfClient numbers={known ?? null} />
        </div>
      )}
      {client && known && <SubscriptionsOfClient numbers={known} />}
      {held && <AccessOfClient access={held.connectedClient} anonymousGroup={held.anonymousGroup} />}
      <Refusal error={access.error} />
      <TopicTest brokerId={brokerId} clientId={clientId} username={state ? username.current : undefined} />
      <RefusalsOfClient brokerId={brokerId} clientId={clientId} />
      {client && known && <UnknownFields fields={known.unknownFields ?? []} />}
      {known && <Age asOf={known.asOf} isStale={!isLive} />}
      {isDisconnecting && (
        <BulkDisconnect
          brokerId={brokerId}
          title={text('disconnectTitle', { client: clientId })}
          filter={{ clientIds: [clientId] }}
          totalCount={1}
          connectedCount={null}
          onClose={() => setDisconnecting(false)}
        />
      )}
    </>
  );
}

const stateClass = (isConnected: boolean): string => (isConnected ? 'state CONNECTED' : 'state');
