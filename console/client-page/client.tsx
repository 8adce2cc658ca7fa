import { useRef, useState } from 'react';
import { Link } from 'wouter';
import { whyAddress } from '../access/addresses.ts';
import { useBroker, useIsReached } from '../broker/broker-context.ts';
import { connectionKey } from '../clients/client-columns.tsx';
import { EndClient } from '../clients/end-client.tsx';
import { useLive } from '../graph/live.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { useAddressValues } from '../ui/address-values.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { PageHeading } from '../ui/page-heading.tsx';
import { Problem } from '../ui/problem.tsx';
import { AccessOfClient, ANONYMOUS } from './access-of-client.tsx';
import { clientOf, receive } from './client-state.ts';
import { EventsOfClient } from './events-of-client.tsx';
import { useLastKnown } from './last-known.ts';
import { Now } from './now.tsx';
import { ACCESS, CLIENT, LAST_SEEN, NUMBERS } from './operations.ts';
import { RefusalsOfClient } from './refusals-of-client.tsx';
import { SubscriptionsOfClient } from './subscriptions-of-client.tsx';
import { clientTexts } from './texts.ts';
import { TopicTest } from './topic-test.tsx';
import { TrafficOfClient } from './traffic-of-client.tsx';
import './style.css';

/** Intervals of reading what sends no events to this screen, in milliseconds. */
const NUMBERS_MS = 1_000;
const SEEN_MS = 2_000;
const ACCESS_MS = 5_000;

/** A device, also one that never connected: what it does now, what it was denied, what happened, what it may do. */
export function Client({ clientId }: { readonly clientId: string }) {
  const text = useTexts(clientTexts);
  const { id: brokerId } = useBroker();
  const { state, isLive } = useLive(
    CLIENT,
    { brokerId, clientIds: [clientId] },
    ({ connectedClients }) => connectedClients,
    receive,
  );
  const numbers = useQuery(NUMBERS, { id: brokerId, clientId }, NUMBERS_MS);
  const { data: history } = useQuery(LAST_SEEN, { id: brokerId, clientId }, SEEN_MS);
  const seen = history?.broker ?? null;
  const lastEvent = seen?.last.nodes[0];
  const lastUsername = lastEvent?.username ?? lastEvent?.refusal?.username ?? null;
  const access = useQuery(
    ACCESS,
    { id: brokerId, clientId, username: lastUsername ?? '', isNamed: lastUsername !== null },
    ACCESS_MS,
  );
  // The search leads to the dialog: `?disconnect=yes`.
  const { values, set } = useAddressValues();
  const isDisconnecting = values.get('disconnect') === 'yes';
  const [isDeleting, setDeleting] = useState(false);
  const isReached = useIsReached();
  const client = clientOf(state);
  // The form of the test stays as it is if the client leaves.
  const username = useRef<string | null>(null);
  username.current = client?.username ?? username.current ?? lastUsername;
  const isConnected = client?.isConnected === true;
  const known = useLastKnown(numbers.data?.broker?.connectedClient, numbers.error === null);
  const lastKnown = useLastKnown(access.data?.broker, isReached);
  const account = username.current === ANONYMOUS ? null : username.current;
  return (
    <>
      <p>
        <Link href={`/brokers/${brokerId}/clients`}>← {text('clients')}</Link>
      </p>
      <header className="screen client-name">
        <PageHeading of="OBJECT">{clientId}</PageHeading>
        {state && (
          <span role="status" className={isLive && isReached ? stateClass(isConnected) : 'stale'}>
            {client ? text(connectionKey(client.isConnected)) : text(isReached ? 'absent' : 'unknown')}
          </span>
        )}
        {client?.isGateway && <span className="tag">{text('isGateway')}</span>}
        {client?.isBridge && <span className="tag">{text('bridge')}</span>}
        <span className="buttons">
          <Link href={whyAddress(brokerId, { account, anonymous: isAnonymous(username.current), clientId })}>
            {text('why')}
          </Link>
          {lastKnown?.viewerCanControlClients && isConnected && isReached && !client.isGateway && (
            <button type="button" className="danger" onClick={() => set({ disconnect: 'yes' })}>
              {text('disconnect')} …
            </button>
          )}
          {lastKnown?.viewerCanControlClients && client?.isConnected === false && isReached && (
            <button type="button" className="danger" onClick={() => setDeleting(true)}>
              {text('deleteSession')} …
            </button>
          )}
          <CopyAs document={NUMBERS} variables={{ id: brokerId, clientId }} />
        </span>
      </header>
      <Now
        clientId={clientId}
        client={state === null || (client === null && !isReached) ? undefined : client}
        error={state === null && isReached ? numbers.error : null}
        numbers={known}
        seen={seen}
        isStale={!isLive || !isReached}
      />
      <RefusalsOfClient isReached={isReached} brokerId={brokerId} clientId={clientId} />
      <EventsOfClient clientId={clientId} />
      <div className="client-parts">
        <TrafficOfClient isReached={isReached} brokerId={brokerId} clientId={clientId} numbers={known} />
        <SubscriptionsOfClient numbers={known} isReached={isReached} />
        {lastKnown && (isReached || client) && (
          <AccessOfClient
            brokerId={brokerId}
            clientId={clientId}
            access={lastKnown}
            lastUsername={lastUsername}
            isReached={isReached}
          />
        )}
        <TopicTest brokerId={brokerId} clientId={clientId} username={state && seen ? username.current : undefined} />
      </div>
      {isReached && access.error && <Problem error={access.error} />}
      {((isDisconnecting && lastKnown?.viewerCanControlClients) || isDeleting) && (
        <EndClient
          brokerId={brokerId}
          clientId={clientId}
          isConnected={!isDeleting}
          onClose={() => {
            setDeleting(false);
            if (isDisconnecting) set({ disconnect: '' });
          }}
        />
      )}
    </>
  );
}

const isAnonymous = (username: string | null) => (username === ANONYMOUS ? 'true' : undefined);

const stateClass = (isConnected: boolean): string => (isConnected ? 'state CONNECTED' : 'state');
