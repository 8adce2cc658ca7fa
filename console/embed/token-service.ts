import { LiveConnection } from '../graph/live-connection.ts';
import { post } from '../graph/post.ts';
import type { Service } from '../graph/service.ts';

interface Shared {
  readonly service: Service;
  /** Of the elements that use it. */
  readonly listeners: Set<() => void>;
}

/** Elements of a page with the same service and token share a connection. By both. */
const shared = new Map<string, Shared>();

/** Connects to a service with a token. `onRefused`: the service does not accept the token. */
export function connect(
  address: string,
  token: string,
  onRefused: () => void,
): { readonly service: Service; readonly release: () => void } {
  const key = `${address} ${token}`;
  const { service, listeners } = shared.get(key) ?? create(address, token);
  shared.set(key, { service, listeners });
  listeners.add(onRefused);
  const release = () => {
    listeners.delete(onRefused);
    if (listeners.size > 0) return;
    service.live.close();
    shared.delete(key);
  };
  return { service, release };
}

function create(address: string, token: string): Shared {
  const listeners = new Set<() => void>();
  const onRefused = () => {
    for (const listener of [...listeners]) listener();
  };
  const target = { graph: `${address}graphql`, authorization: `Bearer ${token}`, onRefused };
  return {
    listeners,
    service: {
      graph: target.graph,
      ask: (document, variables) => post(document, variables, { ...target, credentials: 'omit' }),
      live: new LiveConnection(target),
    },
  };
}
