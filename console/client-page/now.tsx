import { useId } from 'react';
import type { RefusedError } from '../graph/refused.ts';
import { useTexts } from '../texts/texts.ts';
import { Age } from '../ui/age.tsx';
import { Problem } from '../ui/problem.tsx';
import { FactsOfClient } from './facts-of-client.tsx';
import type { ClientNumbers, ClientState, LastSeen } from './operations.ts';
import { Presence } from './presence.tsx';
import { clientTexts } from './texts.ts';
import { UnknownFields } from './unknown-fields.tsx';

interface NowProps {
  readonly clientId: string;
  /** `null`: the broker does not know it; `undefined`: it is not known whether the broker does. */
  readonly client: ClientState | null | undefined;
  /** Why nothing is known. */
  readonly error: RefusedError | null;
  readonly numbers: ClientNumbers | null;
  readonly seen: LastSeen | null;
  readonly isStale: boolean;
}

/** The connection and the session of a client, or when it was seen last. */
export function Now({ clientId, client, error, numbers, seen, isStale }: NowProps) {
  const text = useTexts(clientTexts);
  const heading = useId();
  return (
    <section aria-labelledby={heading}>
      <h3 id={heading}>{text('now')}</h3>
      {client === undefined && (error || !seen) && <Problem error={error} />}
      <Presence clientId={clientId} client={client} seen={seen} />
      {client && (
        <div className={isStale ? 'client-facts card stale' : 'client-facts card'}>
          <FactsOfClient client={client} numbers={numbers} />
        </div>
      )}
      {client && numbers && <UnknownFields fields={numbers.unknownFields ?? []} />}
      {client && numbers && <Age asOf={numbers.asOf} isStale={isStale} />}
    </section>
  );
}
