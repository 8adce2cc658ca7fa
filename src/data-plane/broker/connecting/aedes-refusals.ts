import type { ProtocolError } from '../core/core-parts.ts';
import { CLIENT_ID_REJECTED, PACKET_TOO_LARGE, PROTOCOL_ERROR } from '../packets/refused-packet.ts';

/** Reason codes of MQTT 5. */
export const BAD_AUTHENTICATION_METHOD = 0x8c;
export const CONNECT_TIMEOUT = 0xa0;

/** The client sent no CONNECT in time. */
export const NO_CONNECT: ProtocolError = { reasonCode: CONNECT_TIMEOUT, rule: null };

/** Errors with which aedes 2.0.0-beta.1 itself closes a connection, by the start of their text. */
const REFUSALS: readonly (readonly [start: string, reasonCode: number, rule: string])[] = [
  ['Invalid protocol', PROTOCOL_ERROR, 'MQTT-3.1.0-1: the first packet is CONNECT'],
  ['identifier rejected', CLIENT_ID_REJECTED, 'MQTT-3.1.3-8 of MQTT 3.1.1: the client id is empty'],
  ['bad authentication method', BAD_AUTHENTICATION_METHOD, 'enhanced authentication is not supported'],
  ['packet too large', PACKET_TOO_LARGE, 'the packet is too large'],
];

/** Returns `null` for other errors: of the network, or of refusals that are reported elsewhere. */
export function aedesRefusalOf({ message }: Error): ProtocolError | null {
  const found = REFUSALS.find(([start]) => message.startsWith(start));
  return found ? { reasonCode: found[1], rule: found[2] } : null;
}
