import { type Client, createClient } from 'graphql-ws';
import { onTestFinished } from 'vitest';
import WebSocket from 'ws';
import type { TestService } from './service.ts';

interface IdleSocket {
  readonly client: Client;
  /** Resolves with the close code. */
  readonly closed: Promise<number>;
  readonly isOpen: () => boolean;
}

/** A WebSocket that is open, with acknowledged credentials and without a subscription. */
export async function idleSocket({ url }: Pick<TestService, 'url'>, token: string): Promise<IdleSocket> {
  let close: (code: number) => void = () => undefined;
  const closed = new Promise<number>((resolve) => {
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
      closed: (event) => close((event as { code: number }).code),
    },
  });
  onTestFinished(() => void client.dispose());
  const socket = await connected;
  return { client, closed, isOpen: () => socket.readyState === WebSocket.OPEN };
}
