import { type Client, createClient } from 'graphql-ws';
import { onTestFinished } from 'vitest';
import WebSocket from 'ws';
import type { TestService } from './service.ts';

interface SocketEnd {
  /** The close code. */
  readonly code: number;
  /** By `performance.now()`. */
  readonly at: number;
}

interface IdleSocket {
  readonly client: Client;
  readonly closed: Promise<SocketEnd>;
  readonly isOpen: () => boolean;
}

/** A WebSocket that is open, with acknowledged credentials and without a subscription. */
export async function idleSocket({ url }: Pick<TestService, 'url'>, token: string): Promise<IdleSocket> {
  let close: (end: SocketEnd) => void = () => undefined;
  const closed = new Promise<SocketEnd>((resolve) => {
    close = resolve;
  });
  let connect: (socket: WebSocket) => void = () => undefined;
  const connected = new Promise<WebSocket>((resolve) => {
    connect = resolve;
  });
  const client = createClient({
    url: `${url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${token}` },
    lazy: false,
    onNonLazyError: () => undefined,
    retryAttempts: 0,
    on: {
      connected: (socket) => connect(socket as WebSocket),
      closed: (event) => close({ code: (event as { code: number }).code, at: performance.now() }),
    },
  });
  onTestFinished(() => void client.dispose());
  const socket = await connected;
  return { client, closed, isOpen: () => socket.readyState === WebSocket.OPEN };
}
