import { ClientIdFights } from '../../../protocol/apis/refusals/client-id-fights.ts';
import { REFUSAL_KINDS, type RefusalReason, type Refused } from '../../../protocol/apis/refusals/refusal.ts';
import {
  executeRefusalCommand,
  REFUSALS_API,
  type RefusalCoverage,
  refusalsChanged,
} from '../../../protocol/apis/refusals/refusal-control.ts';
import { RefusalLog } from '../../../protocol/apis/refusals/refusal-log.ts';
import { tlsReasonOf } from '../../../protocol/apis/refusals/tls-reasons.ts';
import type { ControlEvent } from '../../../protocol/control/envelope.ts';
import type { ControlPlugin } from '../../../protocol/control/plugin.ts';
import { type Connection, type ListenerInfo, SESSION_TAKEN_OVER } from '../clients/connection.ts';
import type { DeniedTopic, ProtocolError } from '../core/core-parts.ts';
import type { DynamicSecurityAccess } from '../dynamic-security/dynamic-security-access.ts';
import type { RefusedSocket } from '../listening/listener.ts';
import {
  BAD_AUTHENTICATION_METHOD,
  CLIENT_ID_REJECTED,
  CONNECT_TIMEOUT,
  PACKET_TOO_LARGE,
  PROTOCOL_ERROR,
  TOPIC_ALIAS_INVALID,
} from '../packets/refused-packet.ts';
import type { RefusalReason as ConnectReason, RefusedConnect } from './connect-refusal.ts';

const COVERAGE: RefusalCoverage = { kinds: REFUSAL_KINDS, limit: null };

/** Reason codes of MQTT 5. */
const UNSUPPORTED_VERSION = 0x84;
const QUOTA_EXCEEDED = 0x97;

/** `null`: the client was not refused, but has left. */
const CONNECT_REASONS: Readonly<Record<Exclude<ConnectReason, 'credentials'>, RefusalReason | null>> = {
  throttled: 'THROTTLED',
  busy: 'BUSY',
  client_id: 'CLIENT_ID_REJECTED',
  session_owner: 'SESSION_OF_ACCOUNT',
  will: 'WILL_REJECTED',
  connections: 'TOO_MANY_CONNECTIONS',
  sessions: 'TOO_MANY_SESSIONS',
  storage: 'BROKER_ERROR',
  closed: null,
  error: 'BROKER_ERROR',
};

const PROTOCOL_REASONS: ReadonlyMap<number, RefusalReason> = new Map([
  [PROTOCOL_ERROR, 'PROTOCOL_ERROR'],
  [UNSUPPORTED_VERSION, 'PROTOCOL_VERSION'],
  [CLIENT_ID_REJECTED, 'CLIENT_ID_REJECTED'],
  [BAD_AUTHENTICATION_METHOD, 'NOT_SUPPORTED'],
  [TOPIC_ALIAS_INVALID, 'PROTOCOL_ERROR'],
  [PACKET_TOO_LARGE, 'PACKET_TOO_LARGE'],
  [QUOTA_EXCEEDED, 'TOO_MANY_SUBSCRIPTIONS'],
  [CONNECT_TIMEOUT, 'NO_CONNECT'],
]);

/** Records what the embedded broker refuses, and serves it as `brokergraph/refusals`. */
export class Refusals implements ControlPlugin {
  readonly api = REFUSALS_API;
  readonly #access: DynamicSecurityAccess;
  readonly #log: RefusalLog;
  readonly #fights = new ClientIdFights();

  constructor(access: DynamicSecurityAccess, emit: (event: ControlEvent) => void) {
    this.#access = access;
    this.#log = new RefusalLog(() => emit(refusalsChanged(this.#log)));
  }

  readonly connect = (connection: Connection, refused: RefusedConnect): void => {
    const { clientId, username, reasonCode } = refused;
    const reason =
      refused.reason === 'credentials' ? this.#access.whyRefused(refused) : CONNECT_REASONS[refused.reason];
    if (reason === null) return;
    this.#log.add({
      ...about(connection),
      kind: 'CONNECT',
      reason,
      clientId: clientId === '' ? null : clientId,
      username,
      topic: refused.willTopic,
      reasonCode,
    });
  };

  readonly denied = (connection: Connection, { action, topic, cause, reasonCode }: DeniedTopic): void => {
    const { identity } = connection;
    const refused = { ...about(connection), kind: action, topic, reasonCode } as const;
    if (cause === 'TOO_MANY') {
      this.#log.add({ ...refused, reason: action === 'PUBLISH' ? 'TOO_MANY_RETAINED' : 'TOO_MANY_SUBSCRIPTIONS' });
    } else if (identity !== null) {
      const evaluate = () => this.#access.denialOf(identity, action, topic);
      this.#log.add({ ...refused, reason: 'ACCESS_DENIED' }, { version: this.#access.version, evaluate });
    }
  };

  readonly protocolError = (connection: Connection, { reasonCode, rule, topic = null, isTls }: ProtocolError): void => {
    const known = topic === null ? PROTOCOL_REASONS.get(reasonCode) : 'INVALID_TOPIC';
    this.#log.add({
      ...about(connection),
      kind: connection.identity === null ? 'CONNECT' : 'PACKET',
      reason: isTls ? 'TLS_ON_PLAIN_LISTENER' : (known ?? 'MALFORMED_PACKET'),
      topic,
      // MQTT 3 has no reason code for it.
      reasonCode: connection.request.protocolVersion === 5 ? reasonCode : null,
      detail: rule,
    });
  };

  /** A connection whose client id another client uses. */
  readonly takenOver = (closed: Connection, by: Connection): void => {
    const { identity } = closed;
    if (identity === null) return;
    const { clientId, username } = identity;
    const [previous, next] = [
      { username, address: closed.address },
      { username: by.claimedUsername ?? null, address: by.address },
    ];
    if (!this.#fights.isFight(clientId, previous, next, performance.now())) return;
    const reasonCode = closed.request.protocolVersion === 5 ? SESSION_TAKEN_OVER : null;
    this.#log.add({ ...about(closed), kind: 'TAKEOVER', reason: 'TAKEN_OVER', reasonCode, takenOverBy: next });
  };

  /** A connection that was refused before MQTT. */
  readonly socket = ({ port }: ListenerInfo, detail: string, { by, address }: RefusedSocket): void => {
    const reasons = { TLS: tlsReasonOf(detail), WEBSOCKET: 'WEBSOCKET_REQUEST', CONNECTIONS: 'TOO_MANY_CONNECTIONS' };
    const reason = reasons[by] as RefusalReason;
    const connection = { address: address?.replace(/^::ffff:(?=\d)/, '') ?? null, listenerPort: port };
    this.#log.add({ ...NOTHING, ...connection, kind: 'CONNECT', reason, detail });
  };

  execute(command: Parameters<ControlPlugin['execute']>[0]): unknown {
    return executeRefusalCommand(this.#log, COVERAGE, command);
  }

  close(): void {
    this.#log.close();
  }
}

const NOTHING = { clientId: null, username: null, topic: null, reasonCode: null, detail: null } as const;

const about = ({ identity, claimedUsername, address, listener }: Connection): Omit<Refused, 'kind' | 'reason'> => ({
  ...NOTHING,
  clientId: identity?.clientId ?? null,
  username: identity?.username ?? claimedUsername ?? null,
  address,
  listenerPort: listener.port,
});
