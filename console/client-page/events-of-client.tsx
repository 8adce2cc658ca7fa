import { useId } from 'react';
import { EventsOfBroker } from '../events/broker-events.tsx';
import { useTexts } from '../texts/texts.ts';
import { clientTexts } from './texts.ts';

/** What happened to a client, also to one that never connected. */
export function EventsOfClient({ clientId }: { readonly clientId: string }) {
  const text = useTexts(clientTexts);
  const heading = useId();
  return (
    <section aria-labelledby={heading}>
      <h3 id={heading}>{text('events')}</h3>
      <EventsOfBroker label={text('eventsOf', { client: clientId })} clientId={clientId} />
    </section>
  );
}
