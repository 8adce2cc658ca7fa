import { ClientEventLog } from '../../../protocol/apis/clients/client-event-log.ts';
import type { ClientEndReason, ClientEvent } from '../../../protocol/apis/clients/client-events.ts';
import type { ControlEvent } from '../../../protocol/control/envelope.ts';
import { ADMINISTRATIVE_ACTION, type Connection, KEEP_ALIVE_TIMEOUT, SESSION_TAKEN_OVER } from './connection.ts';

/** Records when clients connect and disconnect. Exact: each connection that was admitted has two events. */
export class ClientEvents {
  readonly log: ClientEventLog;
  readonly #ownClientIds: string;
  readonly #admitted = new WeakSet<Connection>();

  /** @param ownClientIds prefix of the client ids of this service, which have no events */
  constructor(emit: (event: ControlEvent) => void, ownClientIds: string) {
    this.log = new ClientEventLog(emit);
    this.#ownClientIds = ownClientIds;
  }

  readonly connected = (connection: Connection): void => {
    if (connection.identity?.clientId.startsWith(this.#ownClientIds) !== false) return;
    this.#admitted.add(connection);
    this.log.add({ ...about(connection), kind: 'CONNECTED', at: Date.now() });
  };

  /** Notes the end of a connection before the one that takes over is admitted, and calls `next`. */
  takingOver(next: TakenOver): TakenOver {
    return (closed, by) => {
      this.#ended(closed, 'TAKEN_OVER');
      next(closed, by);
    };
  }

  readonly closed = (connection: Connection): void => {
    this.#ended(connection, connection.closedBy === SESSION_TAKEN_OVER ? 'TAKEN_OVER' : 'DISCONNECTED');
  };

  #ended(connection: Connection, kind: 'TAKEN_OVER' | 'DISCONNECTED'): void {
    if (!this.#admitted.delete(connection)) return;
    const reason = kind === 'DISCONNECTED' ? endOf(connection) : null;
    this.log.add({ ...about(connection), kind, at: Date.now(), reason });
  }
}

type TakenOver = (closed: Connection, by: Connection) => void;

const about = ({ identity, address, listener }: Connection): Partial<ClientEvent> => ({
  clientId: identity?.clientId ?? null,
  username: identity?.username ?? null,
  address: address === '' ? null : address,
  listenerPort: listener.port,
  protocol: listener.protocol,
});

const ENDS: ReadonlyMap<number, ClientEndReason> = new Map([
  [ADMINISTRATIVE_ACTION, 'ADMINISTRATOR'],
  [KEEP_ALIVE_TIMEOUT, 'KEEP_ALIVE_TIMEOUT'],
]);

function endOf({ closedBy, isEndedByClient }: Connection): ClientEndReason {
  if (closedBy !== null) return ENDS.get(closedBy) ?? 'PROTOCOL_ERROR';
  return isEndedByClient ? 'CLIENT_DISCONNECTED' : 'CONNECTION_CLOSED';
}
