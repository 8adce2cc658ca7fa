import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { Client } from 'ldapts';
import { OUTGOING_TLS } from '../../../platform/network/outgoing-tls.ts';
import { keepCertificate, tlsProblem } from '../../../platform/network/tls-failure.ts';
import { within } from '../../../platform/scheduling/within.ts';

const OPERATION_MS = 5_000;
/** Timeout of all operations on one connection. ldapts 8.2 has no timeout for the StartTLS handshake. */
const LONGEST_MS = 20_000;
/** Maximum bytes of all responses on one connection: one user and at most a thousand groups. */
const MAX_RESPONSE_BYTES = 4_000_000;

export interface LdapAddress {
  /** `ldap://…` or `ldaps://…`. */
  readonly url: string;
  /** Whether StartTLS is sent first on `ldap://`. */
  readonly startTls: boolean;
  /** PEM of the accepted certificate authorities. `null` for those of Node. */
  readonly ca: string | null;
}

/**
 * Runs work on a new connection, closed after `longestMs` or MAX_RESPONSE_BYTES. Errors: of the network and of ldapts,
 * which may contain the request: log only their messages.
 */
export async function connectedTo<T>(
  { url, startTls, ca }: LdapAddress,
  work: (client: Client) => Promise<T>,
  { longestMs = LONGEST_MS, operationMs = OPERATION_MS } = {},
): Promise<T> {
  const tls = { ...OUTGOING_TLS, ...(ca === null ? {} : { ca }) };
  const isTls = url.startsWith('ldaps:');
  const sockets = new BoundedSockets();
  const client = new Client({
    url,
    timeout: operationMs,
    connectTimeout: operationMs,
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

const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');

/** The socket of a connection and the TLS socket of StartTLS, with common limits. */
class BoundedSockets {
  readonly #sockets: Socket[] = [];
  #bytes = 0;
  #abort: (error: Error) => void = () => undefined;

  add<S extends Socket>(socket: S): S {
    this.#sockets.push(socket);
    keepCertificate(socket);
    socket.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length;
      if (this.#bytes > MAX_RESPONSE_BYTES)
        this.#abort(new Error(`the responses have more than ${MAX_RESPONSE_BYTES} bytes`));
    });
    this.#guard(socket);
    return socket;
  }

  /**
   * Ends the connection if ldapts fails on a chunk, which would end the process. ldapts 8.2 reads the messages of a
   * chunk recursively: 9,000 small ones exceed the stack.
   */
  #guard(socket: Socket): void {
    const emit = socket.emit.bind(socket) as (...event: unknown[]) => boolean;
    socket.emit = (...event: unknown[]) => {
      try {
        return emit(...event);
      } catch (error) {
        if (event[0] !== 'data') throw error;
        this.#abort(new Error('the responses of the directory cannot be read', { cause: error }));
        return true;
      }
    };
  }

  async within<T>(longestMs: number, work: () => Promise<T>): Promise<T> {
    const aborted = new Promise<never>((_, reject) => {
      this.#abort = (error) => {
        this.close();
        reject(error);
      };
    });
    const late = () => {
      this.close();
      return new Error(`the operations take longer than ${longestMs / 1_000} s`);
    };
    return within(longestMs, Promise.race([aborted, work()]), late);
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** A description for the log and for checks. The error itself may contain the request with the password. */
export const describeLdapError = (error: unknown): string =>
  tlsProblem(error, { name: 'the directory', ca: 'LDAP_CA_FILE' }) ??
  (error instanceof Error ? `${error.name}: ${error.message}` : 'unknown');
