import type { Aedes, Client } from 'aedes';
import { topicFilterProblem } from '../topic-rules.ts';
import type { IncomingPacket } from './packet-meter.ts';

/**
 * What aedes 1.2.0 guards against and 2.0.0-beta.1, which was branched off before, does not: names from the wire as keys of plain
 * objects (GHSA-52qw-whmv-87c5), so that a client called `constructor` would find what every object inherits.
 */
export function guardBroker(aedes: Aedes): void {
  Object.assign(aedes, { clients: Object.create(null), brokers: Object.create(null) });
}

/** The same for topic filters. For each new client, before it reads. */
export function guardClient(client: Client): void {
  Object.assign(client, { subscriptions: Object.create(null), duplicates: Object.create(null) });
}

/** Whether a SUBSCRIBE or an UNSUBSCRIBE has only filters that are valid. aedes stores all of a SUBSCRIBE before it looks at each. */
export function hasValidFilters(packet: IncomingPacket): boolean {
  const { subscriptions = [], unsubscriptions = [] } = packet as {
    subscriptions?: readonly { readonly topic: string }[];
    unsubscriptions?: readonly string[];
  };
  return (
    subscriptions.every(({ topic }) => topicFilterProblem(topic) === null) &&
    unsubscriptions.every((filter) => topicFilterProblem(filter) === null)
  );
}

/**
 * aedes makes the filters of a SUBSCRIBE unique by a plain object, too: it loses `__proto__`, and puts names that are numbers first,
 * so that SUBACK would answer them in another order. The packet keeps its own list instead, of each filter the last. `began` is
 * told the list when aedes comes to the packet, which may be long after it was read.
 */
export function guardSubscribe(packet: IncomingPacket, began: (subscriptions: object) => void): void {
  const subscriptions = (packet as unknown as { subscriptions?: readonly { readonly topic: string }[] }).subscriptions;
  if (packet.cmd !== 'subscribe' || !subscriptions) return;
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
