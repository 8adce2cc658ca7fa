import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { Client } from 'ldapts';

/** Of one operation. */
const TIMEOUT_MS = 5_000;
/** Of all that is done on one connection, also of the handshake of StartTLS, which the client waits for without end. */
const LONGEST_MS = 20_000;
/** All answers on one connection: what is asked for is a person's names and at most a thousand groups. */
const MAX_ANSWER_BYTES = 4_000_000;

export interface LdapAddress {
  /** `ldap://…` or `ldaps://…`. */
  readonly url: string;
  /** TLS is begun on `ldap://` before anything else is said. */
  readonly startTls: boolean;
  /** PEM of the authorities that the server's certificate may be from; null: those of Node. */
  readonly ca: string | null;
}

/**
 * Runs work on a connection of its own. Errors: those of the network and of ldapts, which may hold what was sent: only their words are
 * to be told. A server that answers too much, or is too slow with all of it, is left (LONGEST_MS, MAX_ANSWER_BYTES).
 */
export async function connectedTo<T>(
  { url, startTls, ca }: LdapAddress,
  work: (client: Client) => Promise<T>,
  longestMs = LONGEST_MS,
): Promise<T> {
  const tls = ca === null ? {} : { ca };
  const isTls = url.startsWith('ldaps:');
  const sockets = new BoundedSockets();
  const client = new Client({
    url,
    timeout: TIMEOUT_MS,
    connectTimeout: TIMEOUT_MS,
    strictDN: false,
    ...(isTls ? { tlsOptions: tls } : {}),
    createConnection: ((port: number, host: string) => sockets.add(connect(port, host))) as typeof connect,
    createSecureConnection: ((...to: Parameters<typeof connectTls>) =>
      sockets.add(connectTls(...to))) as typeof connectTls,
  });
  try {
    return await sockets.within(longestMs, async () => {
      if (startTls && !isTls) await client.startTLS({ ...tls, host: hostOf(url) } satisfies ConnectionOptions);
      return work(client);
    });
  } finally {
    await client.unbind().catch(() => undefined);
    sockets.close();
  }
}

/** An address of IPv6 without its brackets: certificates have it so. */
const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');

/** The socket of a connection, and the one that TLS is begun on later: both together have the bound. */
class BoundedSockets {
  readonly #sockets: Socket[] = [];
  #bytes = 0;
  #leave: (error: Error) => void = () => undefined;

  add<S extends Socket>(socket: S): S {
    this.#sockets.push(socket);
    socket.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length;
      if (this.#bytes > MAX_ANSWER_BYTES) this.#leave(new Error(`it answers more than ${MAX_ANSWER_BYTES} bytes`));
    });
    return socket;
  }

  /** Errors: those of the work, and that it takes too long or is told too much. */
  async within<T>(longestMs: number, work: () => Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const left = new Promise<never>((_, reject) => {
      this.#leave = (error) => {
        this.close();
        reject(error);
      };
      timer = setTimeout(() => this.#leave(new Error(`it takes longer than ${longestMs / 1_000} s`)), longestMs);
    });
    try {
      return await Promise.race([left, work()]);
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
