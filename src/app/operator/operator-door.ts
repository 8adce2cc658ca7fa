import { chmod, rm } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { join, resolve } from 'node:path';
import type { ExecutionResult } from 'graphql';
import { ServiceError } from '../../platform/errors.ts';

/**
 * The operator's door: whoever owns the data folder (mode 0700) may run operations on the graph as a root administrator,
 * through a socket in it. It is how commands reach a service that is running; nothing of it is open to the network.
 */
export type RunOperation = (document: string, variables: Readonly<Record<string, unknown>>) => Promise<ExecutionResult>;

/** Longer paths cannot be bound on Linux; such a folder simply has no door, and commands need the service stopped. */
const MAX_SOCKET_PATH = 107;
/** Enough for the access control of a broker with some hundred thousand accounts; only the folder's owner can send it. */
const MAX_REQUEST_BYTES = 64_000_000;

const socketIn = (dataDir: string): string | null => {
  const path = join(resolve(dataDir), 'operator.sock');
  return process.platform === 'win32' || Buffer.byteLength(path) > MAX_SOCKET_PATH ? null : path;
};

/** Opens the door of a folder that this process owns. */
export async function openOperatorDoor(dataDir: string, run: RunOperation): Promise<{ close(): Promise<void> }> {
  const path = socketIn(dataDir);
  if (path === null) return { close: async () => undefined };
  // Left by a process that was killed: nobody else can own it, since the folder is ours.
  await rm(path, { force: true });
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_REQUEST_BYTES) req.destroy();
      else chunks.push(chunk);
    });
    req.on('end', () => {
      const answer = async () => {
        const { document, variables } = JSON.parse(Buffer.concat(chunks).toString('utf8'));
        return run(String(document), variables ?? {});
      };
      answer().then(
        (result) => res.end(JSON.stringify(result)),
        (error: unknown) => res.writeHead(400).end(JSON.stringify({ errors: [{ message: String(error) }] })),
      );
    });
  });
  await new Promise<void>((done, fail) => server.once('error', fail).listen(path, done));
  // The folder may be older than this service, and open to others.
  await chmod(path, 0o600);
  return {
    close: async () => {
      const closed = new Promise<void>((done) => server.close(() => done()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Asks the service that owns the folder. Null: nobody answers at its door. */
export function knockAtOperatorDoor(
  dataDir: string,
  document: string,
  variables: Readonly<Record<string, unknown>>,
): Promise<ExecutionResult | null> {
  const socketPath = socketIn(dataDir);
  if (socketPath === null) return Promise.resolve(null);
  return new Promise((done, fail) => {
    const req = request({ socketPath, method: 'POST', path: '/' }, (res) => {
      let text = '';
      res.setEncoding('utf8');
      res.on('data', (chunk: string) => {
        text += chunk;
      });
      res.on('end', () => {
        try {
          done(JSON.parse(text) as ExecutionResult);
        } catch (cause) {
          fail(new ServiceError('INTERNAL_ERROR', 'The running service gave no answer that can be read', { cause }));
        }
      });
      res.on('error', (cause) =>
        fail(new ServiceError('INTERNAL_ERROR', 'The running service ended meanwhile', { cause })),
      );
    });
    req.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') done(null);
      else fail(new ServiceError('INTERNAL_ERROR', 'The running service could not be asked', { cause: error }));
    });
    req.end(JSON.stringify({ document, variables }));
  });
}
