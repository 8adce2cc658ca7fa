import { describedEnum } from '../../gateway/graphql/described-enum.ts';
import type { RefusalKind, RefusalReason } from '../../protocol/apis/refusals/refusal.ts';

export const RefusalKindType = describedEnum<RefusalKind>('RefusalKind', 'What a broker refused.', {
  CONNECT: 'A connection, before the client was admitted.',
  PACKET: 'A packet of a connected client that broke the protocol. The connection was closed.',
  TAKEOVER: 'The connection of a client, which the broker closed because another client uses the client id.',
  PUBLISH: 'A publish. The connection remains.',
  SUBSCRIBE: 'A subscription to a topic filter. The connection remains.',
  UNSUBSCRIBE: 'The end of a subscription. The connection remains.',
});

export const RefusalReasonType = describedEnum<RefusalReason>(
  'RefusalReason',
  'Why a broker refused something. Brokers differ in how exactly they report it.',
  {
    UNKNOWN_ACCOUNT: 'The account does not exist.',
    WRONG_PASSWORD: 'The account exists, and the password is wrong.',
    PASSWORD_MISSING: 'The client sent a user name without a password.',
    USERNAME_MISSING: 'The client sent no user name, and the broker has no anonymous group.',
    ACCOUNT_DISABLED: 'The account is disabled.',
    CLIENT_ID_OF_ACCOUNT: 'The account is bound to another client id.',
    NOT_AUTHORIZED:
      'The broker does not report which check failed: the account, its password, its client id, or a list of allowed client ids.',
    THROTTLED: 'Too many log-ins with wrong passwords came from this network or for this account.',
    BUSY: 'The broker checks too many log-ins or handshakes at once.',
    CLIENT_ID_REJECTED:
      'The client requested a persistent session without a client id, or used a client id of this service.',
    SESSION_OF_ACCOUNT:
      'The session of the client id belongs to another account (`bindsSessionsToAccounts` of the broker).',
    TAKEN_OVER:
      'Several clients use the client id, and each connection of one closes that of another. `takenOverBy` has the last of these connections.',
    WILL_REJECTED: 'The will has an invalid topic, a topic below $CONTROL, or an invalid QoS.',
    TOO_MANY_CONNECTIONS: 'The limit of connections is reached.',
    TOO_MANY_SESSIONS: 'The limit of sessions is reached, which include those of clients that are offline.',
    NO_CONNECT: 'The client opened a connection and sent no CONNECT in time.',
    PROTOCOL_VERSION: 'The broker does not support the protocol version.',
    PROTOCOL_ERROR: 'The client did not keep to the protocol. `detail` may have the rule.',
    MALFORMED_PACKET: 'The client sent a packet that is no MQTT. `detail` may have the rule.',
    PACKET_TOO_LARGE: 'The client sent a packet above the maximum size.',
    NOT_SUPPORTED: 'The client uses a feature of MQTT that the broker does not support.',
    TLS_ON_PLAIN_LISTENER: 'The client uses TLS on a listener without TLS.',
    PLAIN_ON_TLS_LISTENER: 'The client does not use TLS on a TLS listener.',
    TLS_CERTIFICATE_MISSING: 'The listener requires a client certificate, and the client sent none.',
    TLS_CERTIFICATE_NOT_TRUSTED: 'The listener does not trust the client certificate.',
    TLS_CERTIFICATE_EXPIRED: 'The client certificate has expired.',
    TLS_REFUSED_BY_CLIENT:
      'The client ended the handshake, usually because it does not trust the certificate of the broker.',
    TLS_INCOMPATIBLE: 'Client and listener have no TLS version or cipher in common.',
    TLS_TIMEOUT: 'The TLS handshake was not finished in time.',
    TLS_NOT_CONFIGURED: 'The TLS listener has no server certificate.',
    TLS_FAILED: 'The TLS handshake failed for another reason. `detail` may have it.',
    WEBSOCKET_REQUEST: 'The WebSocket request has a wrong path or subprotocol, or the client sent none.',
    ACCESS_DENIED: 'Access control denies the topic. `decidedBy` has the rule.',
    INVALID_TOPIC: 'The topic or topic filter is invalid.',
    TOO_MANY_SUBSCRIPTIONS: 'A limit of subscriptions is reached.',
    TOO_MANY_RETAINED: 'A limit of retained messages is reached.',
    BROKER_ERROR: 'The broker failed to handle the client.',
    OTHER: 'The broker reports a reason that this service does not know. `detail` may have it.',
  },
);
