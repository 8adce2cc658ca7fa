import type { EventGapReason, StoredEventKind } from '../../../data-plane/history/client-events/stored-events.ts';
import { builder } from '../../../gateway/graphql/builder.ts';
import type { ClientEndReason } from '../../../protocol/apis/clients/client-events.ts';

export const ClientEventKindType = builder.enumType('ClientEventKind', {
  description: 'What happened to a client.',
  values: {
    CONNECTED: { description: 'The broker admitted the client.' },
    DISCONNECTED: { description: 'The connection ended. `reason` says why.' },
    TAKEN_OVER: { description: 'The connection ended because a new connection used the client id.' },
    REFUSED: { description: 'The broker refused a connection, a publish or a subscription. `refusal` says why.' },
    LIMIT_EXCEEDED: {
      description: 'The broker refused a subscription or a retained message because a limit was reached.',
    },
    CLIENT_ID_CONFLICT: {
      description: 'Several clients use the client id, and each closes the connection of another.',
    },
  } as const satisfies Readonly<Record<StoredEventKind, object>>,
});

export const ClientEndReasonType = builder.enumType('ClientEndReason', {
  description: 'Why a connection ended.',
  values: {
    CLIENT_DISCONNECTED: { description: 'The client sent DISCONNECT.' },
    CONNECTION_CLOSED: { description: 'The connection was closed without DISCONNECT.' },
    KEEP_ALIVE_TIMEOUT: { description: 'The client was silent for longer than its keep-alive allows.' },
    ADMINISTRATOR: {
      description: 'An administrator or a change of the access control closed the connection. See `operation`.',
    },
    NOT_AUTHORIZED: { description: 'The client was no longer authorized.' },
    BROKER_RESTARTED: { description: 'The broker restarted. The time is that of the next start.' },
    PROTOCOL_ERROR: { description: 'The broker closed the connection because of a packet of the client.' },
    OTHER: { description: 'Another reason, which `detail` has in the words of the broker.' },
  } as const satisfies Readonly<Record<ClientEndReason, object>>,
});

export const EventGapReasonType = builder.enumType('ClientEventGapReason', {
  description: 'Why events of clients may be missing.',
  values: {
    NOT_FOLLOWED: { description: 'This service did not run, or was not connected to the broker.' },
    LOG_INCOMPLETE: { description: 'The log of the broker was not received completely.' },
    OVERFLOW: { description: 'There were more events than could be read or written.' },
    NOT_WRITTEN: { description: 'The history could not be written, for example because the disk was low.' },
  } as const satisfies Readonly<Record<EventGapReason, object>>,
});
