import { get } from 'node:http';
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { bearer } from '../../../support/service.ts';
import { type ClientsEvent, Mirror, SUBSCRIPTION } from './mirror.ts';

/** A subscriber that can stop reading its socket: bare clients, because those of the packages read for themselves. */
export interface PausableWatcher {
  readonly mirror: Mirror;
  /** Kinds of events in their order, runs of the same kind once. */
  readonly course: readonly string[];
  pause(): void;
  resume(): void;
}

interface Service {
  readonly url: string;
  readonly root: string;
}

interface Result {
  readonly data?: { readonly connectedClients: ClientsEvent };
  readonly errors?: unknown;
}

function receiver() {
  const mirror = new Mirror();
  const course: string[] = [];
  const take = ({ data, errors }: Result) => {
    if (!data) {
      mirror.fail(new Error(JSON.stringify(errors)));
      return;
    }
    const event = data.connectedClients;
    if (course.at(-1) !== event.kind) course.push(event.kind);
    mirror.apply(event);
  };
  return { mirror, course, take };
}

export function pausableWebSocket({ url, root }: Service, brokerId: string): PausableWatcher {
  const { mirror, course, take } = receiver();
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  onTestFinished(() => socket.terminate());
  const send = (message: object) => socket.send(JSON.stringify(message));
  socket.once('open', () => send({ type: 'connection_init', payload: { authorization: `Bearer ${root}` } }));
  socket.on('error', (error) => mirror.fail(error));
  socket.on('close', (code, reason) => mirror.fail(new Error(`Closed: ${code} ${reason}`)));
  socket.on('message', (data: Buffer) => {
    const { type, payload } = JSON.parse(data.toString());
    if (type === 'connection_ack') {
      send({ id: '1', type: 'subscribe', payload: { query: SUBSCRIPTION, variables: { id: brokerId } } });
    } else if (type === 'next') take(payload);
    else if (type === 'error') mirror.fail(new Error(JSON.stringify(payload)));
  });
  return { mirror, course, pause: () => socket.pause(), resume: () => socket.resume() };
}

export async function pausableSse({ url, root }: Service, brokerId: string): Promise<PausableWatcher> {
  const { mirror, course, take } = receiver();
  const query = new URLSearchParams({ query: SUBSCRIPTION, variables: JSON.stringify({ id: brokerId }) });
  const headers = { ...bearer(root), accept: 'text/event-stream' };
  const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    get(`${url}/graphql?${query}`, { headers }, resolve).once('error', reject);
  });
  onTestFinished(() => void response.destroy());
  let text = '';
  response.setEncoding('utf8');
  response.on('error', (error) => mirror.fail(error));
  response.on('close', () => mirror.fail(new Error('Closed')));
  response.on('data', (chunk: string) => {
    const events = (text + chunk).split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: (.+)$/m.exec(event)?.[1];
      if (/^event: next$/m.test(event) && data !== undefined) take(JSON.parse(data));
    }
  });
  return { mirror, course, pause: () => response.pause(), resume: () => response.resume() };
}
