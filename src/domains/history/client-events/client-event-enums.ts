import type { EventGapReason, StoredEventKind } from '../../../data-plane/history/client-events/stored-events.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import type { ClientEndReason } from '../../../protocol/apis/clients/client-events.ts';

export const ClientEventKindType = describedEnum<StoredEventKind>('ClientEventKind', 'What happened to a client.', {
  CONNECTED: 'The broker admitted the client.',
  DISCONNECTED: 'The connection ended. `reason` says why.',
  TAKEN_OVER: 'The connection ended because a new connection used the client id.',
  REFUSED: 'The broker refused a connection, a publish or a subscription. `refusal` says why.',
  LIMIT_EXCEEDED: 'The broker refused a subscription or a retained message because a limit was reached.',
  CLIENT_ID_CONFLICT: 'Several clients use the client id, and each closes the connection of another.',
});

export const ClientEndReasonType = describedEnum<ClientEndReason>('ClientEndReason', 'Why a connection ended.', {
  CLIENT_DISCONNECTED: 'The client sent DISCONNECT.',
  CONNECTION_CLOSED: 'The connection was closed without DISCONNECT.',
  KEEP_ALIVE_TIMEOUT: 'The client was silent for longer than its keep-alive allows.',
  ADMINISTRATOR: 'An administrator or a change of the access control closed the connection. See `operation`.',
  NOT_AUTHORIZED: 'The client was no longer authorized.',
  BROKER_RESTARTED: 'The broker restarted. The time is that of the next start.',
  PROTOCOL_ERROR: 'The broker closed the connection because of a packet of the client.',
  OTHER: 'Another reason, which `detail` has in the words of the broker.',
});

export const EventGapReasonType = describedEnum<EventGapReason>(
  'ClientEventGapReason',
  'Why events of clients may be missing.',
  {
    NOT_FOLLOWED: 'This service did not run, or was not connected to the broker.',
    LOG_INCOMPLETE: 'The log of the broker was not received completely.',
    OVERFLOW: 'There were more events than could be read or written.',
    NOT_WRITTEN: 'The history could not be written, for example because the disk was low.',
  },
);
