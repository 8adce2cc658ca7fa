import { useTexts } from '../texts/texts.ts';
import { Facts } from '../ui/facts.tsx';
import type { ClientNumbers } from './operations.ts';
import { clientTexts } from './texts.ts';

/** The titles of the fields of a client on this screen, by their first name in the graph. */
const TITLES = {
  address: 'address',
  remotePort: 'address',
  protocol: 'protocol',
  protocolVersion: 'version',
  isConnected: 'state',
  lastConnectedAt: 'lastConnected',
  keepalive: 'keepalive',
  cleanSession: 'session',
  listener: 'listener',
  tls: 'tls',
  will: 'will',
  queues: 'queue',
  inflight: 'queue',
  numDropped: 'droppedMessages',
  numPublished: 'traffic',
  numSubscribed: 'traffic',
  bytesPublished: 'traffic',
  bytesSubscribed: 'traffic',
  subscriptions: 'subscriptions',
  numSubscriptions: 'subscriptions',
} as const;

const isKnown = (field: string): field is keyof typeof TITLES => Object.hasOwn(TITLES, field);

/** Why some values are unknown, and what would change that. */
export function UnknownFields({ fields }: { readonly fields: NonNullable<ClientNumbers['unknownFields']> }) {
  const text = useTexts(clientTexts);
  const byReason = new Map<string, Set<string>>();
  for (const { field, reason } of fields) {
    const [name = field] = field.split('.');
    const titles = byReason.get(reason) ?? new Set();
    byReason.set(reason, titles.add(isKnown(name) ? text(TITLES[name]) : field));
  }
  if (byReason.size === 0) return null;
  return (
    <details>
      <summary>{text('whyUnknown')}</summary>
      <Facts
        facts={[...byReason].map(([reason, titles]) => [
          [...titles].join(', '),
          <span key={reason} lang="en">
            {reason}
          </span>,
        ])}
      />
    </details>
  );
}
