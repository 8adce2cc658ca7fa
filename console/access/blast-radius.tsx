import { useTexts } from '../texts/texts.ts';
import type { Blast } from './change.ts';
import { accessTexts } from './texts.ts';

const SHOWN = 100;

/** The clients that a change disconnects. */
export function BlastRadius({ blast }: { readonly blast: Blast }) {
  const text = useTexts(accessTexts);
  const { clients, clientCount, usernames, anonymous, gateway, isComplete } = blast;
  const isNobody = clientCount === 0 && !anonymous && !gateway && (isComplete || usernames.length === 0);
  return (
    <section aria-label={text('disconnects')}>
      <h3>{text('disconnects')}</h3>
      {isNobody && <p>{text('disconnectsNobody')}</p>}
      {clientCount > 0 && (
        <>
          <p>{text('disconnectsClients', { count: clientCount })}</p>
          <ul className="access-clients">
            {clients.slice(0, SHOWN).map(({ clientId, username }) => (
              <li key={`${clientId}\n${username}`}>
                {clientId} <span className="quiet">{username ?? text('anonymous')}</span>
              </li>
            ))}
          </ul>
          {clientCount > SHOWN && <p>{text('furtherClients', { count: clientCount - SHOWN })}</p>}
        </>
      )}
      {!isComplete && usernames.length > 0 && (
        <p className="note">{text('disconnectsAccounts', { names: usernames.slice(0, SHOWN).join(', ') })}</p>
      )}
      {anonymous && <p className="note">{text('disconnectsAnonymous')}</p>}
      {gateway && <p className="note">{text('disconnectsGateway')}</p>}
    </section>
  );
}
