import { createClient as createSseClient } from 'graphql-sse';
import { createClient } from 'graphql-ws';
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import type { TestService } from '../../../support/service.ts';
import { type ClientsEvent, Mirror, SUBSCRIPTION } from './mirror.ts';
import type { Random } from './random.ts';

/** A subscriber to the clients of a broker, with the list that results from the events. */
export interface Watcher {
  readonly name: string;
  readonly mirror: Mirror;
}

type Service = Pick<TestService, 'url' | 'root'>;
type Results = AsyncIterableIterator<{ readonly data?: unknown; readonly errors?: unknown }>;

interface Connection {
  results(after: number | null): Results;
  end(): void;
}

function webSocket({ url, root }: Service, brokerId: string): Connection {
  const client = createClient({
    url: `${url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${root}` },
    retryAttempts: 0,
  });
  return {
    results: (after) => client.iterate({ query: SUBSCRIPTION, variables: { id: brokerId, after } }) as Results,
    end: () => void client.dispose(),
  };
}

function serverSentEvents({ url, root }: Service, brokerId: string): Connection {
  const client = createSseClient({
    url: `${url}/graphql`,
    headers: { authorization: `Bearer ${root}` },
    retryAttempts: 0,
  });
  return {
    results: (after) => client.iterate({ query: SUBSCRIPTION, variables: { id: brokerId, after } }) as Results,
    end: () => client.dispose(),
  };
}

export const watchByWebSocket = (service: Service, brokerId: string, name = 'over WebSocket'): Watcher =>
  watch(webSocket(service, brokerId), name);

export const watchBySse = (service: Service, brokerId: string): Watcher =>
  watch(serverSentEvents(service, brokerId), 'by SSE');

function watch(connection: Connection, name: string): Watcher {
  const mirror = new Mirror();
  onTestFinished(() => connection.end());
  follow(mirror, connection.results(null)).catch((error: unknown) => mirror.fail(error));
  return { name, mirror };
}

/**
 * Disconnects after a few events and reconnects with `after`, alternating between WebSocket and SSE, when `other` has
 * received some more. Stops disconnecting when `signal` is aborted.
 */
export function watchAgainAndAgain(
  service: Service,
  brokerId: string,
  { other, random, signal }: { readonly other: Mirror; readonly random: Random; readonly signal: AbortSignal },
): Watcher {
  const mirror = new Mirror();
  let connection: Connection | null = null;
  onTestFinished(() => connection?.end());
  const run = async () => {
    for (let turn = 0; ; turn++) {
      connection = (turn % 2 === 0 ? webSocket : serverSentEvents)(service, brokerId);
      const following = follow(mirror, connection.results(mirror.resumeAt));
      if (signal.aborted) return following;
      following.catch(() => undefined);
      const enough = mirror.events + 1 + random.below(4);
      await mirror.until(() => mirror.events >= enough && mirror.resumeAt !== null, signal);
      connection.end();
      await following.catch(() => undefined);
      const later = other.events + random.below(4);
      await other.until(() => other.events >= later, signal);
    }
  };
  run().catch((error: unknown) => mirror.fail(error));
  return { name: 'with `after`, again and again', mirror };
}

async function follow(mirror: Mirror, results: Results): Promise<void> {
  for await (const { data, errors } of results) {
    if (errors) throw new Error(JSON.stringify(errors));
    mirror.apply((data as { readonly connectedClients: ClientsEvent }).connectedClients);
  }
}
