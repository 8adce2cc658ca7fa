import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { busyMs } from '../../support/busy-time.ts';
import { startTestService } from '../../support/service.ts';

const CONNECTIONS = 900;
/** Of the processor time of all requests. A slow machine changes both. */
const MAX_SHARE = 1 / 3;

/**
 * Opens connections, and sends a request on each at once when a line arrives, and the end of the connection if the line
 * is `end`. Prints `ready`, then `done`, or `lost` for a connection that is closed without a response.
 */
const CLIENTS = `
const { connect } = require('node:net');
const [port, count, text] = process.argv.slice(1);
const sockets = Array.from({ length: Number(count) }, () => connect(Number(port), '127.0.0.1'));
let [open, answered] = [0, 0];
for (const socket of sockets) {
  socket.once('connect', () => ++open === sockets.length && console.log('ready'));
  socket.once('data', () => ++answered === sockets.length && console.log('done'));
  socket.on('close', () => socket.bytesRead === 0 && console.log('lost'));
  socket.on('error', () => {});
}
process.stdin.once('data', (line) => {
  for (const socket of sockets) String(line) === 'end\\n' ? socket.end(text) : socket.write(text);
});
`;

const QUERY = `/graphql?query=${encodeURIComponent('{ __typename }')}`;
const get = (path: string, headers = 'accept: application/json\r\n') =>
  `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${headers}\r\n`;
const post = (body: string) =>
  `POST /graphql HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

interface AtOnce {
  readonly count: number;
  /** Whether the client closes its side behind the request. */
  readonly isEnded?: boolean | undefined;
}

/** The share of the longest iteration in the processor time of equal requests that arrive at once. */
async function longestShare(port: number, request: string, { count, isEnded = false }: AtOnce): Promise<number> {
  const clients = spawn(process.execPath, ['-e', CLIENTS, String(port), String(count), request]);
  onTestFinished(() => void clients.kill());
  const lines = createInterface(clients.stdout);
  await once(lines, 'line');
  const before = busyMs();
  let [longestMs, isDone, busy] = [0, false, before];
  const watch = () => {
    const now = busyMs();
    longestMs = Math.max(longestMs, now - busy);
    busy = now;
    if (!isDone) setImmediate(watch);
  };
  setImmediate(watch);
  clients.stdin.write(isEnded ? 'end\n' : 'go\n');
  expect(await once(lines, 'line')).toEqual(['done']);
  isDone = true;
  clients.kill();
  return longestMs / (busyMs() - before);
}

const KINDS: readonly (readonly [name: string, requestOf: (token: string) => string, isEnded?: boolean])[] = [
  ['event streams', () => get(QUERY, 'accept: text/event-stream\r\n')],
  ['queries by POST', () => post('{"query":"{ __typename }"}')],
  ['readings of a list by REST', (token) => get('/api/projects', `authorization: Bearer ${token}\r\n`)],
  ['refused requests by REST', () => get('/api/projects')],
  ['unknown pages, by clients that close their side', () => get('/unknown'), true],
];

test('no event loop iteration serves all of 900 equal requests that arrive at once', async () => {
  const service = await startTestService();
  const port = Number(new URL(service.url).port);
  for (const [name, requestOf, isEnded] of KINDS) {
    const request = requestOf(service.root);
    // The first requests load and compile what they need.
    await longestShare(port, request, { count: 3, isEnded });
    const share = await longestShare(port, request, { count: CONNECTIONS, isEnded });
    expect({ name, isShort: share < MAX_SHARE }).toEqual({ name, isShort: true });
  }
});
