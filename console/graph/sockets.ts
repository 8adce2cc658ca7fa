import type { TadaDocumentNode } from 'gql.tada';
import { type Client, createClient } from 'graphql-ws';
import { GRAPH } from './addresses.ts';
import { textOf } from './ask.ts';
import { pause } from './connectivity.ts';
import { announceSessionRefused } from './session-end.ts';

/** Close codes of the service: the session has ended, or the browser no longer has its cookie. */
const SESSION_ENDS: readonly number[] = [4403, 4401];
/** Longest wait between two attempts to connect, in milliseconds. */
const MAX_WAIT_MS = 10_000;
/** A connection that is silent for longer than the sum is lost, for example because the computer slept. */
const PING_MS = 12_000;
const PONG_MS = 5_000;
const listeners = new Set<(isOpen: boolean) => void>();
const endsSession = (event: unknown): boolean => SESSION_ENDS.includes((event as CloseEvent).code);
const announce = (isOpen: boolean) => {
  for (const listener of listeners) listener(isOpen);
};

/** Calls `listener` whenever the connection for live events opens or is lost. Returns how to stop. */
export function onConnection(listener: (isOpen: boolean) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

let current: Client | null = null;

/**
 * Opens the connection for live events, and opens it again when it is lost. It stays open without subscriptions, so
 * that all screens know whether the service can be reached.
 */
export function openConnection(): Client {
  current ??= connect();
  return current;
}

/** Closes the connection with its subscriptions, for example because the next one is of another session. */
export function closeConnection(): void {
  // The service may close a connection that is being opened, for example because its session has ended.
  Promise.resolve(current?.dispose()).catch(() => undefined);
  current = null;
}

function connect(): Client {
  let pongTimer: ReturnType<typeof setTimeout> | undefined;
  const client = createClient({
    url: GRAPH.replace('http', 'ws'),
    lazy: false,
    // Reported by `closed` below.
    onNonLazyError: () => undefined,
    retryAttempts: Number.POSITIVE_INFINITY,
    retryWait: (retries) => pause(Math.min(MAX_WAIT_MS, 1_000 * 2 ** retries) * (0.5 + Math.random() / 2)),
    keepAlive: PING_MS,
    // A service that is starting or ending may accept a connection and never respond.
    connectionAckWaitTimeout: PONG_MS,
    // A session that has ended stays ended.
    shouldRetry: (event) => !endsSession(event),
    on: {
      connected: () => announce(true),
      ping: (isReceived) => {
        if (!isReceived) pongTimer = setTimeout(() => client.terminate(), PONG_MS);
      },
      pong: (isReceived) => isReceived && clearTimeout(pongTimer),
      closed: (event) => {
        clearTimeout(pongTimer);
        if (current !== client) return;
        const hasEnded = endsSession(event);
        if (hasEnded) current = null;
        announce(false);
        if (hasEnded) announceSessionRefused();
      },
    },
  });
  return client;
}

// The browser reports the loss of the network earlier than the connection does.
addEventListener('offline', () => current?.terminate());

/** Calls `receive` for each event. `variables` are read again after a reconnect. Returns how to stop. */
export function subscribe<Data, Variables>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables & Record<string, unknown>,
  receive: (data: Data) => void,
  onError: (error: unknown) => void,
): () => void {
  return openConnection().subscribe<Data>(
    { query: textOf(document), variables },
    {
      next: ({ data, errors }) => (data ? receive(data) : onError(errors)),
      error: onError,
      complete: () => {},
    },
  );
}
