import type { AccessControl } from '../access.ts';
import type { Connection } from './connection.ts';
import type { IncomingPacket } from './packet-meter.ts';

/** Reason code of MQTT 5. */
const NOT_AUTHORIZED = 0x87;

/**
 * Leaves a client the subscriptions that it may not end. aedes asks nobody about UNSUBSCRIBE, so the packet loses those filters;
 * it is acknowledged all the same, because MQTT 3.1.1 cannot say no. MQTT 5 can, with a reason code for each filter, which aedes
 * makes by mapping them. Decided when aedes comes to the packet: one that was sent
 * right behind CONNECT is read before it is known who sends it.
 */
export function guardUnsubscribe(packet: IncomingPacket, connection: Connection, access: AccessControl): void {
  const { unsubscriptions: asked } = packet as { unsubscriptions?: readonly string[] };
  if (packet.cmd !== 'unsubscribe' || !asked) return;
  let allowed: string[] | null = null;
  Object.defineProperty(packet, 'unsubscriptions', {
    get: () => {
      const { identity } = connection;
      if (allowed) return allowed;
      const may = asked.map((filter) => identity !== null && access.mayUnsubscribe(identity, filter));
      allowed = asked.filter((_filter, index) => may[index]);
      const map = (reasonOf: (filter: string) => number) =>
        asked.map((filter, index) => (may[index] ? reasonOf(filter) : NOT_AUTHORIZED));
      return Object.defineProperty(allowed, 'map', { value: map });
    },
  });
}
