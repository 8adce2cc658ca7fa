import type { Rival } from '../../protocol/apis/refusals/client-id-fights.ts';
import type { Refusal, RefusalReason } from '../../protocol/apis/refusals/refusal.ts';
import { denialAdvice } from '../access-control/explain/denial-advice.ts';

/** What an operator can do about a refusal. */
export function whatWouldHelp(refusal: Refusal): string {
  const advice = ADVICE[refusal.reason];
  return typeof advice === 'string' ? advice : advice(refusal);
}

type Advice = string | ((refusal: Refusal) => string);

const quoted = (name: string | null): string => (name === null ? '' : ` "${name}"`);

const ADVICE: Readonly<Record<RefusalReason, Advice>> = {
  UNKNOWN_ACCOUNT: ({ username }) =>
    `Create the account${quoted(username)}, or correct the user name in the client: user names are case-sensitive.`,
  WRONG_PASSWORD: ({ username }) =>
    `Correct the password in the client, or set a new password of the account${quoted(username)}.`,
  PASSWORD_MISSING: ({ username }) => `Configure the password of the account${quoted(username)} in the client.`,
  USERNAME_MISSING:
    'Configure a user name and a password in the client. To accept clients without a user name, set an anonymous group.',
  ACCOUNT_DISABLED: ({ username }) => `Enable the account${quoted(username)}.`,
  CLIENT_ID_OF_ACCOUNT: ({ username, clientId }) =>
    `The account${quoted(username)} is bound to another client id. Correct the client id${quoted(clientId)} in the client, or the client id of the account.`,
  NOT_AUTHORIZED:
    'The broker does not report which check failed. Check that the account exists, is enabled and is not bound to another client id, then the password, and `clientid_prefixes` in mosquitto.conf.',
  THROTTLED:
    'Too many log-ins with wrong passwords came from this network or for this account. Correct the password in the clients; correct log-ins are accepted again after at most five minutes.',
  BUSY: 'The broker checks too many log-ins at once. The client can retry after a few seconds, with an increasing delay.',
  CLIENT_ID_REJECTED:
    'Configure a client id in the client, or let it request a clean session: MQTT 3 requires a client id for a persistent session. Client ids of this service (`brokergraph-` and the id of the broker) are reserved for it.',
  SESSION_OF_ACCOUNT: ({ clientId }) =>
    `The client id${quoted(clientId)} belongs to another account, which the list of clients names. Configure another client id in the client, or the account to which the session belongs. If the client changed its account, let it connect once more with that account and end its session (clean session), or delete that account.`,
  TAKEN_OVER: ({ clientId, takenOverBy, ...closed }) =>
    `Several clients use the client id${quoted(clientId)}, the last ones from ${placeOf(closed)} and from ${placeOf(takenOverBy)}. Configure another client id in all of them but one. If they are one device, it runs its MQTT client twice.`,
  WILL_REJECTED:
    'Correct the topic of the will in the client: it must be a valid topic name without wildcards, and not below $CONTROL.',
  TOO_MANY_CONNECTIONS:
    'Close connections that are not used, or raise the maximum number of connections of the broker or the listener.',
  TOO_MANY_SESSIONS:
    'Delete persistent sessions that are not used, set a session expiry in the clients, or raise the maximum number of clients of the broker: it accepts no further sessions.',
  NO_CONNECT:
    'The client opened a connection and sent no CONNECT in time. Check that it uses MQTT, and that no proxy delays its data.',
  PROTOCOL_VERSION: 'Configure a protocol version in the client that the broker supports: MQTT 3.1, 3.1.1 or 5.',
  PROTOCOL_ERROR:
    'The client does not keep to the protocol; `detail` has what the broker reports. Check that it uses MQTT on this port, and update its MQTT library.',
  MALFORMED_PACKET:
    'The client sent a packet that is no MQTT; `detail` has what the broker reports. Check that it uses MQTT on this port, and update its MQTT library.',
  PACKET_TOO_LARGE: 'Send smaller messages, or raise the maximum packet size of the broker.',
  NOT_SUPPORTED:
    'The client uses a feature that the broker or its listener does not support, such as a QoS, retained messages, enhanced authentication or its protocol version. Configure the client without it.',
  TLS_ON_PLAIN_LISTENER:
    'The client uses TLS on a listener without TLS. Use the port of a TLS listener, or disable TLS.',
  PLAIN_ON_TLS_LISTENER:
    'The client does not use TLS on a TLS listener. Enable TLS in the client, or use another port.',
  TLS_CERTIFICATE_MISSING:
    'The listener requires a client certificate. Configure a certificate and its key in the client.',
  TLS_CERTIFICATE_NOT_TRUSTED:
    'The listener does not trust the client certificate. Issue it by an authority of the listener, or add its authority to the listener.',
  TLS_CERTIFICATE_EXPIRED: 'Replace the client certificate, and check the clocks of the broker and the client.',
  TLS_REFUSED_BY_CLIENT:
    'The client ended the handshake. Usually it does not trust the certificate of the broker: configure the authority of that certificate in the client, and connect to a host name of the certificate.',
  TLS_INCOMPATIBLE:
    'Client and listener have no TLS version or cipher in common. Update the TLS library of the client: TLS 1.2 is required.',
  TLS_TIMEOUT: 'The TLS handshake was not finished in time. Check the network, and that the client uses TLS.',
  TLS_NOT_CONFIGURED: 'The TLS listener has no server certificate. Deploy a certificate to it.',
  TLS_FAILED: 'The TLS handshake failed; `detail` has what the broker reports. Compare the TLS settings of both sides.',
  WEBSOCKET_REQUEST: 'Use the WebSocket subprotocol `mqtt` in the client. `detail` has what it offered, and the path.',
  ACCESS_DENIED: accessAdvice,
  INVALID_TOPIC: ({ topic }) =>
    `Correct the topic or topic filter${quoted(topic)} in the client: MQTT does not allow it.`,
  TOO_MANY_SUBSCRIPTIONS:
    'Remove subscriptions of the client, or use filters with wildcards: the limit of subscriptions is reached.',
  TOO_MANY_RETAINED: 'Delete retained messages that are not used: the limit of retained messages is reached.',
  BROKER_ERROR: 'The broker failed to handle the client. The log of the service has the error.',
  OTHER: '`detail` has what the broker reports.',
};

/** Where a connection comes from, and whose it is. */
function placeOf(rival: Rival | null | undefined): string {
  const account = rival?.username == null ? '' : ` (account "${rival.username}")`;
  return `${rival?.address ?? 'an unknown address'}${account}`;
}

function accessAdvice({ kind, topic, username, denial }: Refusal): string {
  // The will of a connection is a publish.
  const action = kind === 'SUBSCRIBE' || kind === 'UNSUBSCRIBE' ? kind : 'PUBLISH';
  const { decision: reason = null, decidedBy = null } = denial ?? {};
  return denialAdvice({ action, topic, username, reason, decidedBy });
}
