import type { AccessControl } from '../access.ts';
import { topicFilterProblem } from '../topic-rules.ts';
import type { Connection } from './connection.ts';
import type { IncomingPacket } from './mqtt-packet-internals.ts';

/** Reason code of UNSUBACK (MQTT 5, 3.11.3). */
const NOT_AUTHORIZED = 0x87;

/** Whether all topic filters are valid. aedes stores the filters of a SUBSCRIBE before it checks them. */
export function hasValidFilters({ subscriptions = [], unsubscriptions = [] }: IncomingPacket): boolean {
  return (
    subscriptions.every(({ topic }) => topicFilterProblem(topic) === null) &&
    unsubscriptions.every((filter) => topicFilterProblem(filter) === null)
  );
}

/**
 * Removes duplicate filters from a SUBSCRIBE; the last remains. aedes does so with a plain object, which loses
 * `__proto__` and reorders numeric names, so the packet ignores the list that aedes assigns. `began` is called when
 * aedes handles the packet.
 */
export function guardSubscribe(packet: IncomingPacket, began: (subscriptions: object) => void): void {
  const { cmd, subscriptions } = packet;
  if (cmd !== 'subscribe' || !subscriptions) return;
  const unique = [...new Map(subscriptions.map((subscription) => [subscription.topic, subscription])).values()];
  let hasBegun = false;
  const get = () => {
    if (!hasBegun) {
      hasBegun = true;
      began(unique);
    }
    return unique;
  };
  Object.defineProperty(packet, 'subscriptions', { get, set: () => {} });
}

/** Removes filters that the client may not unsubscribe. aedes computes MQTT 5 reason codes by mapping the filters. */
export function guardUnsubscribe(packet: IncomingPacket, connection: Connection, access: AccessControl): void {
  const { cmd, unsubscriptions: requested } = packet;
  if (cmd !== 'unsubscribe' || !requested) return;
  let allowed: string[] | null = null;
  Object.defineProperty(packet, 'unsubscriptions', {
    get: () => {
      const { identity } = connection;
      if (allowed) return allowed;
      const may = requested.map((filter) => identity !== null && access.mayUnsubscribe(identity, filter));
      allowed = requested.filter((_filter, index) => may[index]);
      const map = (reasonOf: (filter: string) => number) =>
        requested.map((filter, index) => (may[index] ? reasonOf(filter) : NOT_AUTHORIZED));
      return Object.defineProperty(allowed, 'map', { value: map });
    },
  });
}
