import { createClient } from 'graphql-ws';
import WebSocket from 'ws';
import { token, webSocketUrl } from './settings.mjs';

/** The close code after which the same credentials are refused again: they have ended, or have lost the permission. */
export const FORBIDDEN = 4403;

export const webSocket = createClient({
  url: webSocketUrl,
  // Browsers and Node 22 have a WebSocket of their own.
  webSocketImpl: WebSocket,
  connectionParams: { token },
  retryAttempts: Number.POSITIVE_INFINITY,
  // Without it the client would send the same token for ever.
  shouldRetry: (event) => event?.code !== FORBIDDEN,
});
