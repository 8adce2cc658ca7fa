import type { Client } from 'aedes';
import type { AccessControl } from './access.ts';
import type { Connection } from './connection.ts';

interface UnsubscribePacket {
  readonly cmd: string;
  unsubscriptions: string[];
}

/**
 * Leaves a client the subscriptions that it may not end. aedes asks nobody about UNSUBSCRIBE, so the packet loses those filters;
 * it is acknowledged all the same, because MQTT 3.1.1 cannot say no. Decided when aedes comes to the packet: one that was sent
 * right behind CONNECT is read before it is known who sends it.
 */
export function guardUnsubscribe(client: Client, connection: Connection, access: AccessControl): void {
  const parser = (client as unknown as { _parser?: { prependListener?: (event: string, listener: unknown) => void } })
    ._parser;
  parser?.prependListener?.('packet', (packet: UnsubscribePacket) => {
    if (packet.cmd !== 'unsubscribe') return;
    const asked = packet.unsubscriptions;
    let allowed: string[] | null = null;
    Object.defineProperty(packet, 'unsubscriptions', {
      get: () => {
        const { identity } = connection;
        allowed ??= identity ? asked.filter((filter) => access.mayUnsubscribe(identity, filter)) : [];
        return allowed;
      },
    });
  });
}
