import { createClient } from 'graphql-ws';
import { onTestFinished } from 'vitest';
import WebSocket from 'ws';
import type { TestService } from './service.ts';

/** A subscription over graphql-transport-ws, read event by event; `closed` is the close code of the socket. */
export interface TestSubscription {
  /** Reads on until an event fits, at most the test's own time. Errors of the subscription are thrown. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they asked for.
  until(fits: (data: any) => boolean): Promise<any>;
  readonly closed: Promise<number>;
  end(): void;
}

export function subscribe(
  service: Pick<TestService, 'url'>,
  token: string,
  query: string,
  variables: Record<string, unknown> = {},
): TestSubscription {
  let close: (code: number) => void = () => undefined;
  const closed = new Promise<number>((resolve) => {
    close = resolve;
  });
  const client = createClient({
    url: `${service.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${token}` },
    retryAttempts: 0,
    on: { closed: (event) => close((event as { code: number }).code) },
  });
  const events = client.iterate({ query, variables });
  const end = () => void client.dispose();
  onTestFinished(end);
  return {
    closed,
    end,
    until: async (fits) => {
      for (;;) {
        const { value, done } = await events.next();
        if (done) throw new Error('The subscription ended before the event came');
        if (value.errors) throw new Error(JSON.stringify(value.errors));
        if (fits(value.data)) return value.data;
      }
    },
  };
}
