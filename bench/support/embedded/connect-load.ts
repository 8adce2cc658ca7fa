/** Clients that connect and disconnect, and clients that stay connected without traffic. All are anonymous. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { connectPacket, DISCONNECT } from './packets.ts';
import { openSubscriber, type Wire } from './wire.ts';

const CONCURRENCY = 16;
const WARM_UP_MS = 500;

export interface ConnectTask {
  readonly port: number;
  readonly milliseconds: number;
}

/** CONNECT, CONNACK, DISCONNECT, and the broker closes the connection. Returns how many times. */
export async function connectLoad(
  { port, milliseconds }: ConnectTask,
  begin: () => void,
  end: () => void,
): Promise<number> {
  let count = 0;
  let isOver = false;
  const loops = Array.from({ length: CONCURRENCY }, async (_, loop) => {
    for (let n = 0; !isOver; n += 1) {
      await connectOnce(port, `device-${loop}-${n}`);
      count += 1;
    }
  });
  await new Promise((resolve) => setTimeout(resolve, WARM_UP_MS));
  const before = count;
  begin();
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  const counted = count - before;
  end();
  isOver = true;
  await Promise.all(loops);
  return counted;
}

async function connectOnce(port: number, clientId: string): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => socket.write(connectPacket(clientId, null)));
  socket.on('data', (bytes) => {
    if (bytes[3] !== 0) throw new Error(`CONNACK ${bytes.toString('hex')}`);
    socket.write(DISCONNECT);
  });
  await once(socket, 'close');
}

export interface IdleTask {
  readonly port: number;
  readonly clients: number;
}

/** Idle clients read only CONNACK and SUBACK. */
const IDLE_READ_BYTES = 64;
const idle: Wire[] = [];

/** Opens connections with one topic filter each. They stay open until the process exits. Returns their number. */
export async function idleLoad({ port, clients }: IdleTask, begin: () => void, end: () => void): Promise<number> {
  begin();
  let next = 0;
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      while (next < clients) {
        const id = `idle-${next++}`;
        idle.push(await openSubscriber(port, id, null, `idle/${id}/state`, 0, () => {}, IDLE_READ_BYTES));
      }
    }),
  );
  end();
  return clients;
}

export async function closeIdle(): Promise<void> {
  for (const { close } of idle.splice(0)) close();
}
