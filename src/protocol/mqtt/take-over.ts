import type { IConnackPacket, ISubackPacket, IUnsubackPacket } from 'mqtt-packet';
import { ServiceError } from '../../platform/errors.ts';
import type { SessionAction, TakenSession } from './broker-session.ts';
import { type BrokerAddress, connectOptions } from './connect-options.ts';
import { refusedConnect } from './link-failure.ts';
import { ONLY_PACKET_ID, RawConnection } from './raw-connection.ts';
import type { ReadingLimits } from './reading-limits.ts';
import { subscribeRefusal, unsubscribeRefusal } from './refused-packet.ts';

export interface TakeOverOptions {
  readonly address: BrokerAddress;
  readonly version: 4 | 5;
  readonly clientId: string;
  readonly timeoutMs: number;
  readonly readingLimits?: ReadingLimits;
}

/** Keepalive in seconds. An unusual value, which identifies the takeover in the log of the broker. */
export const TAKE_OVER_KEEPALIVE = 29;
const NEVER = 0xffffffff;

/**
 * Session takeover: connects briefly with the client identifier of another client, performs `action` on its session and
 * disconnects. The broker disconnects the other client [MQTT-3.1.4-3], which finds the changed session when it
 * reconnects.
 *
 * The session never expires, because the original interval is unknown; the client sets its own. Nothing is
 * acknowledged, so messages of QoS 1 and 2 are sent to the client again. Lost are messages of QoS 0 that arrive
 * meanwhile, and queued ones that this service's user may not receive (Mosquitto checks the user who resumes a
 * session). Without an existing session nothing is done, and the new one is deleted.
 *
 * Errors: NOT_ALLOWED or BROKER_REJECTED if the broker refuses (`info` is { username, topic }); BROKER_UNREACHABLE and
 * BROKER_TIMEOUT, with `info.outcome` 'unknown' after the session was resumed.
 */
export async function takeOver(options: TakeOverOptions, action: SessionAction): Promise<TakenSession> {
  const { address, version, clientId } = options;
  const { username, password, ...endpoint } = connectOptions(address);
  const connection = new RawConnection(endpoint, options);
  let isResumed = false;
  try {
    connection.send({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: version,
      clean: false,
      clientId,
      keepalive: TAKE_OVER_KEEPALIVE,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password: Buffer.from(password) }),
      ...(version === 5 ? { properties: { sessionExpiryInterval: NEVER } } : {}),
    });
    const connack = (await connection.next('connack')) as IConnackPacket;
    const code = connack.reasonCode ?? connack.returnCode ?? 0;
    if (code !== 0) throw refused(code);
    const { sessionPresent } = connack;
    isResumed = sessionPresent;
    if (sessionPresent) await act(connection, action).catch((error) => explainRefusal(error, action, username));
    const ended = version === 5 && !sessionPresent ? { properties: { sessionExpiryInterval: 0 } } : {};
    connection.send({ cmd: 'disconnect', ...(version === 5 ? { reasonCode: 0 } : {}), ...ended });
    return { sessionPresent };
  } catch (error) {
    // Without DISCONNECT the broker would wait for the keepalive before it closes the connection.
    if (isResumed) connection.send({ cmd: 'disconnect', ...(version === 5 ? { reasonCode: 0 } : {}) });
    if (!isResumed || !(error instanceof ServiceError) || error.status !== 503) throw error;
    throw new ServiceError(error.code, error.message, { info: { ...error.info, outcome: 'unknown' }, cause: error });
  } finally {
    await connection.close();
  }
}

async function act(connection: RawConnection, action: SessionAction): Promise<void> {
  if (action.kind === 'DISCONNECT') return;
  if (action.kind === 'UNSUBSCRIBE') {
    connection.send({ cmd: 'unsubscribe', messageId: ONLY_PACKET_ID, unsubscriptions: [action.filter] });
    // The UNSUBACK of MQTT 3.1.1 has no reason codes.
    const { granted } = (await connection.next('unsuback')) as Partial<IUnsubackPacket>;
    const code = Number(granted?.[0] ?? 0);
    if (code >= 0x80) throw unsubscribeRefusal(code);
    return;
  }
  const { filter, qos, noLocal = false, retainAsPublished = false, retainHandling = 2, identifier } = action;
  connection.send({
    cmd: 'subscribe',
    messageId: ONLY_PACKET_ID,
    subscriptions: [{ topic: filter, qos, nl: noLocal, rap: retainAsPublished, rh: retainHandling }],
    ...(identifier === undefined ? {} : { properties: { subscriptionIdentifier: identifier } }),
  });
  const packet = (await connection.next('suback')) as ISubackPacket;
  const code = Number(packet.granted[0]);
  if (code >= 0x80) throw subscribeRefusal(code);
}

/** Adds an explanation to NOT_ALLOWED: the broker checks the permissions of this service's user, not of the client. */
function explainRefusal(error: unknown, action: SessionAction, username: string | undefined): never {
  if (action.kind === 'DISCONNECT' || !(error instanceof ServiceError) || error.code !== 'NOT_ALLOWED') throw error;
  const { kind, filter: topic } = action;
  const subject = username === undefined ? 'clients without a user name' : `the user "${username}"`;
  const [verb, aclType] =
    kind === 'SUBSCRIBE' ? ['subscribe to', 'subscribePattern'] : ['unsubscribe from', 'unsubscribePattern'];
  const message =
    `The broker does not allow ${subject} to ${verb} "${topic}". This service connects in place of the client with its own user, ` +
    `which needs this permission (dynamic security: ${aclType})`;
  throw new ServiceError('NOT_ALLOWED', message, { info: { username: username ?? null, topic }, cause: error });
}

function refused(code: number): ServiceError {
  const { state, text } = refusedConnect(code);
  return new ServiceError(
    state === 'UNAUTHORIZED' ? 'NOT_ALLOWED' : 'BROKER_REJECTED',
    `The session cannot be taken over: ${text}`,
  );
}
