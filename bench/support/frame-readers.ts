/**
 * A process with many WebSockets or streams of server-sent events, which counts messages with little processor time: it
 * counts frames by their headers and events by their first bytes, and parses nothing. Runs as `node frame-readers.js`
 * with an IPC channel. See Readers for its requests.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

interface Opening {
  readonly port: number;
  readonly count: number;
  /** Messages to send. Each is sent after the response to the previous one. */
  readonly messages: readonly string[];
  /** The text of an HTTP request for server-sent events. It replaces the WebSocket and `messages`. */
  readonly request?: string;
}

interface Arrivals {
  /** Number of messages since the previous call. */
  readonly count: number;
  /** Arrival times of the first MAX_TIMES messages, see `now`. */
  readonly times: readonly number[];
}

export interface Readers {
  readonly pid: number;
  /** Resolves when each reader has received the responses to all messages. */
  open(opening: Opening): Promise<void>;
  arrivals(): Promise<Arrivals>;
  close(): void;
}

/** Milliseconds of a clock that all processes of the machine share. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6;

export function startReaders(): Readers {
  const child = fork(fileURLToPath(import.meta.url), { serialization: 'advanced' });
  return {
    pid: child.pid ?? 0,
    open: async (opening) => {
      await asked(child, opening);
    },
    arrivals: () => asked(child, 'arrivals') as Promise<Arrivals>,
    close: () => child.disconnect(),
  };
}

async function asked(child: ChildProcess, question: Opening | 'arrivals'): Promise<unknown> {
  child.send(question);
  const [answer] = await once(child, 'message');
  return answer;
}

/** Number of concurrent handshakes. */
const CONCURRENCY = 50;
const MAX_TIMES = 100_000;
const EVENT = 'event: next';
const HANDSHAKE = [
  'GET /graphql HTTP/1.1',
  'Host: 127.0.0.1',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Protocol: graphql-transport-ws',
].join('\r\n');

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  let count = 0;
  let times: number[] = [];
  const arrived = () => {
    count += 1;
    if (times.length < MAX_TIMES) times.push(now());
  };
  process.on('disconnect', () => process.exit(0));
  process.on('message', (question: Opening | 'arrivals') => {
    if (question === 'arrivals') {
      process.send?.({ count, times });
      count = 0;
      times = [];
    } else {
      void openAll(question, arrived).then(() => process.send?.('open'));
    }
  });
}

async function openAll({ port, count, messages, request }: Opening, arrived: () => void): Promise<void> {
  let left = count;
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      while (left-- > 0) {
        await (request === undefined ? open(port, messages, arrived) : openEvents(port, request, arrived));
      }
    }),
  );
}

/** Opens a WebSocket. Resolves after the responses to all messages. A fragmented message counts once. */
function open(port: number, messages: readonly string[], arrived: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${HANDSHAKE}\r\n\r\n`));
    let isUpgraded = false;
    let rest: Buffer = Buffer.alloc(0);
    let answered = -1;
    const answer = () => {
      answered += 1;
      const message = messages[answered];
      if (message !== undefined) socket.write(frame(1, Buffer.from(message)));
      else if (answered === messages.length) resolve();
      else arrived();
    };
    socket.once('error', reject);
    socket.once('close', () => {
      throw new Error('A reader was closed');
    });
    socket.on('data', (chunk: Buffer) => {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      if (!isUpgraded) {
        const end = rest.indexOf('\r\n\r\n');
        if (end < 0) return;
        isUpgraded = true;
        rest = rest.subarray(end + 4);
        answer();
      }
      rest = readFrames(rest, socket, answer);
    });
  });
}

/** Opens a stream of server-sent events. Resolves after the first event. */
function openEvents(port: number, request: string, arrived: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    let rest: Buffer = Buffer.alloc(0);
    let isOpen = false;
    socket.once('error', reject);
    socket.on('data', (chunk: Buffer) => {
      const data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let counted = 0;
      for (let at = data.indexOf(EVENT); at >= 0; at = data.indexOf(EVENT, counted)) {
        counted = at + EVENT.length;
        if (isOpen) arrived();
        else resolve();
        isOpen = true;
      }
      // The start of an event may be split between two chunks.
      rest = data.subarray(Math.max(counted, data.length - EVENT.length + 1));
    });
  });
}

/** Counts the complete frames, and returns the rest of the last frame. */
function readFrames(data: Buffer, socket: Socket, onMessage: () => void): Buffer {
  let at = 0;
  while (data.length - at >= 2) {
    const [first = 0, second = 0] = [data[at], data[at + 1]];
    const long = second === 126 ? 2 : second === 127 ? 8 : 0;
    if (data.length - at < 2 + long) break;
    const length = long === 0 ? second : long === 2 ? data.readUInt16BE(at + 2) : Number(data.readBigUInt64BE(at + 2));
    const end = at + 2 + long + length;
    if (data.length < end) break;
    const opcode = first & 0x0f;
    if (opcode === 9) socket.write(frame(10, data.subarray(end - length, end)));
    else if (opcode < 8 && (first & 0x80) !== 0) onMessage();
    at = end;
  }
  return data.subarray(at);
}

/** Encodes a frame of a client. Its mask consists of zeros, so the payload does not change. */
function frame(opcode: number, payload: Buffer): Buffer {
  const head = Buffer.from([0x80 | opcode, 0x80 | 126, payload.length >> 8, payload.length & 255, 0, 0, 0, 0]);
  return payload.length < 126
    ? Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | payload.length, 0, 0, 0, 0]), payload])
    : Buffer.concat([head, payload]);
}
