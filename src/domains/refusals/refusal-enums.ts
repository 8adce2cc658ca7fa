import { builder } from '../../gateway/graphql/builder.ts';
import type { RefusalKind, RefusalReason } from '../../protocol/apis/refusals/refusal.ts';

export const RefusalKindType = builder.enumType('RefusalKind', {
  description: 'What a broker refused.',
  values: {
    CONNECT: { description: 'A connection, before the client was admitted.' },
    PACKET: { description: 'A packet of a connected client that broke the protocol. The connection was closed.' },
    TAKEOVER: {
      description: 'The connection of a client, which the broker closed because another client uses the client id.',
    },
    PUBLISH: { description: 'A publish. The connection remains.' },
    SUBSCRIBE: { description: 'A subscription to a topic filter. The connection remains.' },
    UNSUBSCRIBE: { description: 'The end of a subscription. The connection remains.' },
  } as const satisfies Readonly<Record<RefusalKind, object>>,
});

export const RefusalReasonType = builder.enumType('RefusalReason', {
  description: 'Why a broker refused something. Brokers differ in how exactly they report it.',
  values: {
    UNKNOWN_ACCOUNT: { description: 'The account does not exist.' },
    WRONG_PASSWORD: { description: 'The account exists, and the password is wrong.' },
    PASSWORD_MISSING: { description: 'The client sent a user name without a password.' },
    USERNAME_MISSING: { description: 'The client sent no user name, and the broker has no anonymous group.' },
    ACCOUNT_DISABLED: { description: 'The account is disabled.' },
    CLIENT_ID_OF_ACCOUNT: { description: 'The account is bound to another client id.' },
    NOT_AUTHORIZED: {
      description:
        'The broker does not report which check failed: the account, its password, its client id, or a list of allowed client ids.',
    },
    THROTTLED: { description: 'Too many log-ins with wrong passwords came from this network or for this account.' },
    BUSY: { description: 'The broker checks too many log-ins or handshakes at once.' },
    CLIENT_ID_REJECTED: {
      description:
        'The client requested a persistent session without a client id, or used a client id of this service.',
    },
    SESSION_OF_ACCOUNT: {
      description: 'The session of the client id belongs to another account (`bindsSessionsToAccounts` of the broker).',
    },
    TAKEN_OVER: {
      description:
        'Several clients use the client id, and each connection of one closes that of another. `takenOverBy` has the last of these connections.',
    },
    WILL_REJECTED: { description: 'The will has an invalid topic, a topic below $CONTROL, or an invalid QoS.' },
    TOO_MANY_CONNECTIONS: { description: 'The limit of connections is reached.' },
    TOO_MANY_SESSIONS: { description: 'The limit of persistent sessions is reached.' },
    NO_CONNECT: { description: 'The client opened a connection and sent no CONNECT in time.' },
    PROTOCOL_VERSION: { description: 'The broker does not support the protocol version.' },
    PROTOCOL_ERROR: { description: 'The client did not keep to the protocol. `detail` may have the rule.' },
    MALFORMED_PACKET: { description: 'The client sent a packet that is no MQTT. `detail` may have the rule.' },
    PACKET_TOO_LARGE: { description: 'The client sent a packet above the maximum size.' },
    NOT_SUPPORTED: { description: 'The client uses a feature of MQTT that the broker does not support.' },
    TLS_ON_PLAIN_LISTENER: { description: 'The client uses TLS on a listener without TLS.' },
    PLAIN_ON_TLS_LISTENER: { description: 'The client does not use TLS on a TLS listener.' },
    TLS_CERTIFICATE_MISSING: { description: 'The listener requires a client certificate, and the client sent none.' },
    TLS_CERTIFICATE_NOT_TRUSTED: { description: 'The listener does not trust the client certificate.' },
    TLS_CERTIFICATE_EXPIRED: { description: 'The client certificate has expired.' },
    TLS_REFUSED_BY_CLIENT: {
      description: 'The client ended the handshake, usually because it does not trust the certificate of the broker.',
    },
    TLS_INCOMPATIBLE: { description: 'Client and listener have no TLS version or cipher in common.' },
    TLS_TIMEOUT: { description: 'The TLS handshake was not finished in time.' },
    TLS_NOT_CONFIGURED: { description: 'The TLS listener has no server certificate.' },
    TLS_FAILED: { description: 'The TLS handshake failed for another reason. `detail` may have it.' },
    WEBSOCKET_REQUEST: {
      description: 'The WebSocket request has a wrong path or subprotocol, or the client sent none.',
    },
    ACCESS_DENIED: { description: 'Access control denies the topic. `decidedBy` has the rule.' },
    INVALID_TOPIC: { description: 'The topic or topic filter is invalid.' },
    TOO_MANY_SUBSCRIPTIONS: { description: 'A limit of subscriptions is reached.' },
    TOO_MANY_RETAINED: { description: 'A limit of retained messages is reached.' },
    BROKER_ERROR: { description: 'The broker failed to handle the client.' },
    OTHER: { description: 'The broker reports a reason that this service does not know. `detail` may have it.' },
  } as const satisfies Readonly<Record<RefusalReason, object>>,
});
