import { createClient } from 'graphql-ws';
import WebSocket from 'ws';
import type { TestService } from './service.ts';
import { onTestFinished } from './shared.ts';

/** A subscription over graphql-transport-ws. A test reads its events one by one. `closed`: the close code. */
export interface TestSubscription {
  /** Reads events until `fits` returns true, without a timeout. Throws errors of the subscription. */
  // biome-ignore lint/suspicious/noExplicitAny: the type depends on the operation.
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
