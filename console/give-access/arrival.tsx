import { Link } from 'wouter';
import { reasonTexts } from '../advice/reason-texts.ts';
import { useAdvice } from '../advice/use-advice.ts';
import { useBroker } from '../broker/broker-context.ts';
import { clientPath } from '../clients/client-address.ts';
import { graphql } from '../graph/graphql.ts';
import { useLive } from '../graph/live.ts';
import { useQuery } from '../graph/use-query.ts';
import { REFUSALS, type Refusal, type RefusalsEvent } from '../refusals/refusals-live.ts';
import { refusalTexts } from '../refusals/texts.ts';
import { useTexts } from '../texts/texts.ts';
import { giveAccessTexts } from './texts.ts';

/** From the history, because a program that only publishes disconnects before a list of clients shows it. */
const ARRIVED = graphql(`query ArrivalOfDevice($id: ID!, $username: String!) {
  broker(id: $id) {
    clientEvents(first: 1, filter: { username: $username, kinds: [CONNECTED] }) { nodes { at clientId } }
  }
}`);

const ARRIVED_MS = 1_000;

interface Denials {
  /** Whether the previous refusals are known. */
  readonly isReady: boolean;
  /** The last later one. */
  readonly last: Refusal | null;
}

/** Whether the device has connected with its new account, or why it may not. */
export function Arrival({ username }: { readonly username: string }) {
  const text = useTexts(giveAccessTexts);
  const kindText = useTexts(refusalTexts);
  const reasonText = useTexts(reasonTexts);
  const adviceOf = useAdvice();
  const { id } = useBroker();
  const { data } = useQuery(ARRIVED, { id, username }, ARRIVED_MS);
  const apply = (before: Denials | null, { partsLeft, refusals }: RefusalsEvent): Denials => {
    if (!before?.isReady) return { isReady: partsLeft === 0, last: null };
    // Some versions of Mosquitto do not report whose connection they refused.
    const last = refusals.find((refusal) => refusal.username === username || isUnnamed(refusal));
    return { isReady: true, last: last ?? before.last };
  };
  const { state } = useLive(REFUSALS, { brokerId: id }, ({ refusals }) => refusals, apply);
  const arrived = data?.broker?.clientEvents.nodes[0];
  const last = state?.last;
  const denied = last && (!arrived || last.lastAt > arrived.at) ? last : null;
  return (
    <div role="status" className="give-arrival">
      {arrived ? (
        <p>
          <span className="state CONNECTED">{text('CONNECTED')}</span>{' '}
          {arrived.clientId !== null && (
            <>
              {text('as')} <Link href={clientPath(id, arrived.clientId)}>{arrived.clientId}</Link>
            </>
          )}
        </p>
      ) : (
        <p className="state CONNECTING">{text('waiting')}</p>
      )}
      {denied && (
        <p className="note">
          {denied.username === null && `${text('unnamed')} `}
          {text('denied', {
            what: kindText(denied.kind),
            topic: denied.topic ?? '',
            reason: reasonText(denied.reason),
          })}{' '}
          {adviceOf(denied)}
        </p>
      )}
    </div>
  );
}

const isUnnamed = ({ username, clientId, kind }: Refusal): boolean =>
  username === null && clientId === null && kind === 'CONNECT';
