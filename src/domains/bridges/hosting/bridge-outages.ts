import type { Bridge } from '../../../data-plane/bridges/model/bridge.ts';
import { Outages } from '../../../platform/outages.ts';

type Log = ConstructorParameters<typeof Outages>[0]['log'];

/**
 * Logs outages of the connections of a bridge: to another broker, a database or a webhook. `about`: names the bridge.
 * Returns a function that forgets them, when the bridge is closed.
 */
export function logOutages(bridge: Bridge, about: () => object, log: Log): () => void {
  const outages = new Outages({ what: 'a connection of a bridge', log });
  let names = new Set<string>();
  const follow = (statuses: ReturnType<Bridge['status']>) => {
    const former = names;
    names = new Set(statuses.map(({ connectionName }) => connectionName));
    for (const name of former) if (!names.has(name)) outages.forget(name);
    for (const { connectionName: connection, state, error, since, queuedMessages } of statuses) {
      if (state === 'CONNECTED') outages.up(connection, { ...about(), connection, queuedMessages });
      else if (state === 'INACTIVE') outages.forget(connection);
      else if (state !== 'CONNECTING') outages.down(connection, { ...about(), connection, state, error }, since);
    }
  };
  bridge.onStatus(() => follow(bridge.status()));
  return () => follow([]);
}
