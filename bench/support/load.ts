/** A load generator on plain sockets: one request in flight per connection. Responses must have a Content-Length. */
import { connect } from 'node:net';

export interface Load {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Driven {
  readonly answers: number;
  readonly seconds: number;
}

/** `intervalMs`: from a request of a connection to its next one, if its response is there. Default: 0, at once. */
export async function drive(
  port: number,
  load: Load,
  connections: number,
  milliseconds: number,
  intervalMs = 0,
): Promise<Driven> {
  const started = performance.now();
  const until = started + milliseconds;
  const clients = Array.from({ length: connections }, () => one(port, requestOf(load), { until, intervalMs }));
  const counts = await Promise.all(clients);
  return { answers: counts.reduce((sum, count) => sum + count, 0), seconds: (performance.now() - started) / 1_000 };
}

function requestOf({ method, path, headers = {}, body }: Load): Buffer {
  const all: Record<string, string> = { host: 'localhost', ...headers };
  if (body !== undefined) all['content-length'] = String(Buffer.byteLength(body));
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body ?? ''}`);
}

interface Pace {
  readonly until: number;
  readonly intervalMs: number;
}

function one(port: number, request: Buffer, { until, intervalMs }: Pace): Promise<number> {
  return new Promise((resolve, reject) => {
    let sentAt = 0;
    const send = () => {
      sentAt = performance.now();
      socket.write(request);
    };
    const socket = connect(port, '127.0.0.1', send);
    socket.setNoDelay(true);
    socket.once('error', reject);
    let answers = 0;
    let pending = 0;
    socket.on('data', (chunk: Buffer) => {
      if (pending === 0) {
        const end = chunk.indexOf('\r\n\r\n');
        const head = chunk.toString('latin1', 0, end);
        const length = /content-length: (\d+)/i.exec(head)?.[1];
        if (end < 0 || length === undefined || !head.startsWith('HTTP/1.1 200')) {
          reject(new Error(`Unexpected answer: ${chunk.toString('utf8', 0, 500)}`));
          socket.destroy();
          return;
        }
        pending = end + 4 + Number(length);
      }
      pending -= chunk.length;
      if (pending > 0) return;
      answers += 1;
      const now = performance.now();
      const pause = Math.max(0, sentAt + intervalMs - now);
      if (now + pause >= until) {
        socket.end();
        resolve(answers);
      } else if (pause > 0) setTimeout(send, pause);
      else send();
    });
  });
}
