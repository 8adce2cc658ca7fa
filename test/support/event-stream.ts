import { createClient } from 'graphql-ws';
import { onTestFinished } from 'vitest';
import WebSocket from 'ws';

export const TRANSPORTS = ['WebSocket', 'SSE'] as const;
export type Transport = (typeof TRANSPORTS)[number];

interface StreamEnd {
  /** Codes of the errors in the last event; empty if the event has data. */
  readonly errors: readonly string[];
  /** WebSocket: the close code. SSE: `complete` if that event arrived before the connection closed, otherwise `cut`. */
  readonly close: number | 'complete' | 'cut';
}

/** A subscription over one of the transports. A test reads its events one by one. */
export interface EventStream {
  /** Reads events until `fits` returns true for the data of an event. Rejects if the stream ends before. */
  // biome-ignore lint/suspicious/noExplicitAny: the type depends on the operation.
  until(fits: (data: any) => boolean): Promise<any>;
  readonly ended: Promise<StreamEnd>;
  /** Resolves when the stream has received `count` heartbeats: pings of WebSocket, comments of SSE. */
  heartbeats(count: number): Promise<void>;
}

interface Subscription {
  readonly query: string;
  readonly variables?: Record<string, unknown>;
}

interface Result {
  readonly data?: unknown;
  readonly errors?: readonly { readonly extensions?: { readonly code?: string } }[];
}

/** How a stream ends when its caller loses the permission, after an event with the error. */
export const END_OF_RIGHTS: Record<Transport, StreamEnd['close']> = { WebSocket: 4403, SSE: 'complete' };

/** Opens a subscription, which is closed after the test. `url`: the HTTP URL of the GraphQL endpoint. */
export function openStream(
  transport: Transport,
  url: string,
  token: string | null,
  subscription: Subscription,
): EventStream {
  const results = new Results();
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  const heartbeats = new Heartbeats();
  const open = transport === 'SSE' ? overSse : overWebSocket;
  const ended = open(url, headers, subscription, results, heartbeats).then((close) => {
    results.end();
    return { close, errors: results.lastErrors };
  });
  return { ended, until: (fits) => results.until(fits), heartbeats: (count) => heartbeats.reach(count) };
}

/** Opens a subscription and reads its snapshot. */
export async function openedStream(
  transport: Transport,
  { url }: { readonly url: string },
  token: string,
  subscription: Subscription,
): Promise<EventStream> {
  const stream = openStream(transport, `${url}/graphql`, token, subscription);
  await stream.until((data) => Object.values(data as Record<string, { kind: string }>)[0]?.kind === 'SNAPSHOT');
  return stream;
}

class Results {
  readonly #results: Result[] = [];
  #ended = false;
  #wake = () => {};
  lastErrors: readonly string[] = [];

  push(result: Result): void {
    this.lastErrors = (result.errors ?? []).map(({ extensions }) => extensions?.code ?? 'none');
    this.#results.push(result);
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async until(fits: (data: unknown) => boolean): Promise<unknown> {
    for (;;) {
      const next = this.#results.shift();
      if (next === undefined) {
        if (this.#ended) throw new Error('The stream ended before the event came');
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      } else if (next.errors) throw new Error(JSON.stringify(next.errors));
      else if (fits(next.data)) return next.data;
    }
  }
}

class Heartbeats {
  #count = 0;
  #wake = () => {};

  beat(): void {
    this.#count += 1;
    this.#wake();
  }

  async reach(count: number): Promise<void> {
    while (this.#count < count) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

type Open = (
  url: string,
  headers: Record<string, string>,
  subscription: Subscription,
  results: Results,
  heartbeats: Heartbeats,
) => Promise<StreamEnd['close']>;

const overWebSocket: Open = (url, connectionParams, subscription, results, heartbeats) =>
  new Promise((resolve) => {
    class Socket extends WebSocket {
      constructor(address: string, protocols: string | string[]) {
        super(address, protocols);
        this.on('ping', () => heartbeats.beat());
      }
    }
    const client = createClient({
      url: url.replace('http', 'ws'),
      webSocketImpl: Socket,
      connectionParams,
      retryAttempts: 0,
      on: { closed: (event) => resolve((event as { code: number }).code) },
    });
    onTestFinished(() => client.dispose());
    const refused = (errors: unknown) => {
      if (Array.isArray(errors)) results.push({ errors });
    };
    client.subscribe(subscription, {
      next: (result) => results.push(result as Result),
      error: refused,
      complete: () => {},
    });
  });

const overSse: Open = async (url, headers, subscription, results, heartbeats) => {
  const aborted = new AbortController();
  onTestFinished(() => aborted.abort());
  let isComplete = false;
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
      body: JSON.stringify(subscription),
      signal: aborted.signal,
    });
    if (!response.ok || response.body === null) {
      results.push((await response.json()) as Result);
      return 'cut';
    }
    let text = '';
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const event = text.slice(0, end);
        text = text.slice(end + 2);
        if (event.startsWith('event: next')) results.push(JSON.parse(event.slice(event.indexOf('data: ') + 6)));
        if (event.startsWith(':')) heartbeats.beat();
        if (event.startsWith('event: complete')) isComplete = true;
      }
    }
  } catch {
    // The server or the end of the test closed the connection.
  }
  return isComplete ? 'complete' : 'cut';
};
