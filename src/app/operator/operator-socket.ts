import { once } from 'node:events';
import { chmod, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, request } from 'node:http';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ExecutionResult } from 'graphql';
import { ServiceError } from '../../platform/errors.ts';

/** Runs one operation on the graph as a root administrator. */
export type RunOperation = (document: string, variables: Readonly<Record<string, unknown>>) => Promise<ExecutionResult>;

/** Linux cannot bind longer paths. Such a data folder has no socket, and commands require the service to be stopped. */
const MAX_SOCKET_PATH = 107;
/** Enough for the access control of some hundred thousand accounts. Only the folder's owner can send it. */
const MAX_REQUEST_BYTES = 64_000_000;

const socketIn = (dataDir: string): string | null => {
  const path = join(resolve(dataDir), 'operator.sock');
  return process.platform === 'win32' || Buffer.byteLength(path) > MAX_SOCKET_PATH ? null : path;
};

/**
 * Opens the Unix socket by which commands reach the running service. The owner of the data folder (mode 0700) runs
 * operations through it as a root administrator. It is not reachable over the network.
 */
export async function openOperatorSocket(dataDir: string, run: RunOperation): Promise<{ close(): Promise<void> }> {
  const path = socketIn(dataDir);
  if (path === null) return { close: async () => undefined };
  // A killed process left it. No other process uses it, because this process holds the lock of the folder.
  await rm(path, { force: true });
  const execute = async (req: IncomingMessage) => {
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_REQUEST_BYTES) req.destroy();
    });
    const { document, variables } = JSON.parse(await text(req));
    return run(String(document), variables ?? {});
  };
  const server = createServer((req, res) => {
    execute(req).then(
      (result) => res.end(JSON.stringify(result)),
      (error: unknown) => res.writeHead(400).end(JSON.stringify({ errors: [{ message: String(error) }] })),
    );
  });
  server.listen(path);
  await once(server, 'listening');
  // The folder may be older than this service and accessible to other users.
  await chmod(path, 0o600);
  return {
    close: async () => {
      const closed = new Promise<void>((done) => server.close(() => done()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Runs an operation in the service that owns the data folder. `null` if no service runs. */
export async function callOperatorSocket(
  dataDir: string,
  document: string,
  variables: Readonly<Record<string, unknown>>,
): Promise<ExecutionResult | null> {
  const socketPath = socketIn(dataDir);
  if (socketPath === null) return null;
  const req = request({ socketPath, method: 'POST', path: '/' });
  req.end(JSON.stringify({ document, variables }));
  let res: IncomingMessage;
  try {
    [res] = await once(req, 'response');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ECONNREFUSED') return null;
    throw new ServiceError('INTERNAL_ERROR', 'The running service cannot be reached', { cause });
  }
  const body = await text(res).catch((cause: unknown) => {
    throw new ServiceError('INTERNAL_ERROR', 'The running service stopped before it responded', { cause });
  });
  try {
    return JSON.parse(body) as ExecutionResult;
  } catch (cause) {
    throw new ServiceError('INTERNAL_ERROR', 'The response of the running service is invalid', { cause });
  }
}
