import { randomBytes } from 'node:crypto';
import {
  graphql,
  httpSocket,
  openWebSocket,
  requestText,
  send,
  subscribeText,
  webSocketClosedWithin,
} from '../http-tools.ts';
import type { Group, Target } from '../input.ts';
import { closedWithin } from '../mqtt-tools.ts';
import { keys, times } from './texts.ts';

const LOGIN = 'mutation ($i: LoginInput!) { login(input: $i) { token } }';
const HOLD_MS = 5_000;
const BODY_BYTES = 999_000;

/** Starts requests of almost 1 MB and does not end them. */
async function unfinishedBodies(target: Target): Promise<string> {
  const body = `{"query":"${'x'.repeat(BODY_BYTES - 9_000)}`;
  const results = times(5, () => {
    const socket = httpSocket(target);
    socket.write(requestText('/graphql', { body, length: BODY_BYTES }));
    socket.resume();
    return closedWithin(socket, HOLD_MS);
  });
  return (await Promise.all(results)).at(-1) ?? '';
}

/** Upgrades and sends the header of a frame of almost 1 MB, masked, with nearly all of its payload. */
async function unfinishedFrames(target: Target): Promise<string> {
  const head = [
    'GET /graphql HTTP/1.1',
    'Host: localhost',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
    'Sec-WebSocket-Protocol: graphql-transport-ws',
  ];
  const frame = Buffer.alloc(14 + BODY_BYTES - 9_000, 'x');
  frame.writeUInt8(0x81, 0);
  frame.writeUInt8(0x80 | 127, 1);
  frame.writeBigUInt64BE(BigInt(BODY_BYTES), 2);
  const results = times(5, () => {
    const socket = httpSocket(target);
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    socket.once('data', () => socket.write(frame));
    return closedWithin(socket, HOLD_MS);
  });
  return (await Promise.all(results)).at(-1) ?? '';
}

async function unreadPages(target: Target): Promise<string> {
  const socket = httpSocket(target).pause();
  for (const path of ['/api/openapi.json', '/api/docs', '/graphql', '/metrics'])
    socket.write(requestText(path, {}).repeat(50));
  return closedWithin(socket, HOLD_MS);
}

async function unknownVariablesOverWebSocket(target: Target): Promise<string> {
  const socket = await openWebSocket(target);
  if (socket === null) return 'refused';
  const answered = new Promise<string>((resolve) => {
    socket.once('message', (data) => resolve(/"code":"([A-Z_]+)"/.exec(String(data))?.[1] ?? 'a message'));
    socket.once('close', (code) => resolve(`closed ${code}`));
  });
  socket.send(subscribeText('1', LOGIN, { i: keys(100_000) }));
  const result = await answered;
  socket.terminate();
  return result;
}

async function silentSockets(target: Target): Promise<string> {
  const results = times(20, () => closedWithin(httpSocket(target), HOLD_MS));
  return (await Promise.all(results)).at(-1) ?? '';
}

async function webSocketsWithoutInit(target: Target): Promise<string> {
  const sockets = await Promise.all(times(10, () => openWebSocket(target)));
  const results = sockets.map((socket) => (socket ? webSocketClosedWithin(socket, HOLD_MS) : 'refused'));
  return (await Promise.all(results)).at(-1) ?? '';
}

const smallChunks =
  (chunks: number) =>
  async (target: Target, run: number): Promise<string> => {
    const path = ['/graphql', '/auth/session', '/api/projects', '/healthz'][run % 4] ?? '';
    const results = times(20, () => {
      const socket = httpSocket(target);
      socket.resume();
      const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json`;
      socket.write(`${head}\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\n{\r\n'.repeat(chunks)}`);
      return closedWithin(socket, 2_000);
    });
    return (await Promise.all(results)).at(-1) ?? '';
  };

const doubling = times(
  20,
  (i) => `fragment F${i} on Viewer { user { ...G${i} } } fragment G${i} on User { id ...H${i} ...H${i} }`,
).join(' ');

export const anonymous: Group = {
  who: 'anonymous',
  inputs: [
    {
      name: 'unknown-keys',
      what: 'log-in with 115,000 unknown keys in one variable, 1 MB',
      attack: (target) => graphql(target, LOGIN, { i: keys(115_000) }),
    },
    {
      name: 'unknown-keys-small',
      what: 'log-in with 6,000 unknown keys in one variable, 50 KB',
      attack: (target) => graphql(target, LOGIN, { i: keys(6_000) }),
    },
    {
      name: 'long-keys',
      what: 'log-in with 40 unknown keys of 20,000 characters',
      attack: (target) =>
        graphql(target, LOGIN, { i: Object.fromEntries(times(40, (i) => [`${i}`.padEnd(20_000, 'k'), 1])) }),
    },
    {
      name: 'unknown-keys-websocket',
      what: '100,000 unknown keys in one variable over WebSocket',
      attack: unknownVariablesOverWebSocket,
    },
    {
      name: 'merging-fields',
      what: 'a document of 4 KB with 480 objects under one response key',
      // The number of spaces makes each document different, so that no cache contains it.
      attack: (target, run) => graphql(target, `{${' '.repeat(run)}viewer{${'user{id}'.repeat(480)}}}`),
    },
    {
      name: 'equal-fields',
      what: 'a document with 1,980 times one field',
      attack: (target, run) => graphql(target, `{${' '.repeat(run)}viewer{user{${'id '.repeat(1_980)}}}}`),
    },
    {
      name: 'doubling-fragments',
      what: 'fragments that double 20 times',
      attack: (target, run) =>
        graphql(
          target,
          `{${' '.repeat(run)}viewer{...F0}} ${doubling} ${times(20, (i) => `fragment H${i} on User { id ...G${i + 1} }`).join(' ')} fragment G20 on User { id }`,
        ),
    },
    {
      name: 'deep-json',
      what: 'variables of 400,000 levels',
      attack: (target) =>
        send(target, {
          body: `{"query":"{viewer{user{id}}}","variables":{"a":${'['.repeat(400_000)}${']'.repeat(400_000)}}}`,
        }),
    },
    {
      name: 'unfinished-bodies',
      what: '5 bodies of 990 KB that do not end, for 5 s',
      atOnce: 100,
      attack: unfinishedBodies,
    },
    {
      name: 'unfinished-frames',
      what: '5 WebSocket frames of 990 KB that do not end, for 5 s',
      atOnce: 100,
      attack: unfinishedFrames,
    },
    {
      name: 'unread-pages',
      what: '200 requests for pages whose responses nobody reads, for 5 s',
      atOnce: 100,
      attack: unreadPages,
    },
    { name: 'silent-sockets', what: '20 silent connections, for 5 s', atOnce: 100, attack: silentSockets },
    {
      name: 'idle-websockets',
      what: '10 WebSockets without credentials, for 5 s',
      atOnce: 100,
      attack: webSocketsWithoutInit,
    },
    {
      name: 'wrong-passwords',
      what: '5 log-ins with wrong passwords',
      atOnce: 20,
      attack: async (target, run) => {
        const results = times(5, (i) =>
          graphql(target, LOGIN, { i: { email: `person-${run}-${i}@example.com`, password: 'wrong password' } }),
        );
        return (await Promise.all(results)).at(-1) ?? '';
      },
    },
    {
      name: 'rest-unknown-keys',
      what: 'a REST body with 110,000 unknown keys',
      attack: (target) =>
        send(target, { path: `/api/projects/${target.projectId}/brokers`, body: JSON.stringify(keys(110_000)) }),
    },
    { name: 'small-chunks', what: '20 bodies in 10,000 chunks of one byte', atOnce: 25, attack: smallChunks(10_000) },
    {
      name: 'small-chunks-tenfold',
      what: '20 bodies in 100,000 chunks of one byte',
      atOnce: 25,
      attack: smallChunks(100_000),
    },
    {
      name: 'many-networks',
      what: 'log-ins from 250 addresses',
      atOnce: 100,
      attack: (target, run) => {
        const i = { email: `unknown-${run}@example.com`, password: 'wrong password' };
        return graphql({ ...target, from: `127.0.1.${1 + (run % 250)}` }, LOGIN, { i });
      },
    },
    {
      name: 'guessed-names',
      what: '25 guessed names of mutations',
      attack: (target, run) => graphql(target, `mutation { ${times(25, (i) => `createFoo${run}x${i}`).join(' ')} }`),
    },
    {
      name: 'pipelined-requests',
      what: '500 requests in one segment',
      attack: async (target) => {
        const socket = httpSocket(target);
        socket.resume();
        socket.write(requestText('/api/projects', {}).repeat(500));
        return closedWithin(socket, 1_000);
      },
    },
    {
      name: 'garbage-http',
      what: '1 MB of random bytes at the HTTP port',
      attack: async (target) => {
        const socket = httpSocket(target);
        socket.resume();
        socket.write(randomBytes(1_000_000));
        return closedWithin(socket, 2_000);
      },
    },
  ],
};
