/** Subscribers whose reading a test controls. A library would read everything immediately. */
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { Broadcast, type BroadcastOptions } from '../../../../src/gateway/live/broadcast.ts';
import type { Tick } from '../graph.ts';

interface Ticks {
  readonly ticks: Broadcast<Tick, Tick>;
  readonly tick: () => void;
}

/** An observed number and a function that increments it. */
export function createTicks(options?: BroadcastOptions<Tick, Tick>): Ticks {
  const state = { n: 0 };
  const ticks = new Broadcast<Tick, Tick>(() => ({ ...state }), options);
  return {
    ticks,
    tick: () => {
      state.n += 1;
      ticks.publish({ ...state });
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: tests read results of any shape.
type Result = { data?: any; errors?: { message: string; extensions: { code: string } }[] };

export interface RawSubscriber {
  /** All received results. */
  readonly results: Result[];
  /** Resolves when one of the results matches, including earlier ones. */
  until(fits: (result: Result) => boolean): Promise<Result>;
  /** Resolves with the close code of a WebSocket, 0 for SSE. */
  readonly ended: Promise<{ readonly code: number; readonly reason: string }>;
  /** Stops reading from the socket. */
  pause(): void;
  resume(): void;
  end(): void;
}

interface SubscriberOptions {
  readonly token?: string;
  readonly variables?: Record<string, unknown>;
}

export type Transport = 'WebSocket' | 'SSE';

export function subscriber(
  transport: Transport,
  port: number,
  query: string,
  { token, variables = {} }: SubscriberOptions = {},
): Promise<RawSubscriber> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return (transport === 'WebSocket' ? overWebSocket : overSse)(port, { query, variables }, headers);
}

interface Collected {
  readonly collected: Pick<RawSubscriber, 'results' | 'until'>;
  readonly add: (result: Result) => void;
}

function collect(): Collected {
  const results: Result[] = [];
  const waiting = new Set<(result: Result) => void>();
  return {
    add: (result) => {
      results.push(result);
      for (const tell of waiting) tell(result);
    },
    collected: {
      results,
      until: (fits) =>
        new Promise((resolve) => {
          const known = results.find(fits);
          if (known !== undefined) resolve(known);
          const tell = (result: Result) => {
            if (!fits(result)) return;
            waiting.delete(tell);
            resolve(result);
          };
          waiting.add(tell);
        }),
    },
  };
}

async function overWebSocket(port: number, payload: object, headers: Record<string, string>): Promise<RawSubscriber> {
  const { collected, add } = collect();
  const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, 'graphql-transport-ws', { headers });
  onTestFinished(() => socket.terminate());
  const ended = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) }));
  });
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  socket.on('message', (data) => {
    const message = JSON.parse(String(data));
    if (message.type === 'connection_ack') socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload }));
    if (message.type === 'next') add(message.payload);
    if (message.type === 'error') add({ errors: message.payload });
  });
  socket.send(JSON.stringify({ type: 'connection_init' }));
  return {
    ...collected,
    ended,
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    end: () => socket.terminate(),
  };
}

async function overSse(port: number, payload: object, headers: Record<string, string>): Promise<RawSubscriber> {
  const { collected, add } = collect();
  let req: ClientRequest | null = null;
  const res = await new Promise<IncomingMessage>((resolve, reject) => {
    req = request({
      port,
      host: '127.0.0.1',
      path: '/graphql',
      method: 'POST',
      agent: false,
      headers: { ...headers, 'content-type': 'application/json', accept: 'text/event-stream' },
    });
    req.once('response', resolve);
    req.once('error', reject);
    req.end(JSON.stringify(payload));
  });
  onTestFinished(() => {
    res.destroy();
  });
  const ended = new Promise<{ code: number; reason: string }>((resolve) => {
    res.once('close', () => resolve({ code: 0, reason: '' }));
  });
  let text = '';
  res.setEncoding('utf8');
  res.on('data', (chunk: string) => {
    text += chunk;
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const data = /^event: next\ndata: (.*)$/s.exec(event)?.[1];
      if (data !== undefined) add(JSON.parse(data));
    }
  });
  return {
    ...collected,
    ended,
    pause: () => res.pause(),
    resume: () => res.resume(),
    end: () => res.destroy(),
  };
}
