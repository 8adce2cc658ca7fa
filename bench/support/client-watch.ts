/** A subscriber to `connectedClients` that does not parse events, because parsing would delay its own measurements. */
import { WebSocket } from 'ws';

const CLIENT = 'clientId username address protocol protocolVersion isConnected lastConnectedAt lastDisconnectedAt';
const WATCH = `subscription ($id: ID!, $filter: ConnectedClientFilter) {
  connectedClients(brokerId: $id, filter: $filter) {
    kind sequence partsLeft removed clients { ${CLIENT} }
  }
}`;
const WATCH_COUNTS = `subscription ($id: ID!) { connectedClients(brokerId: $id, form: COUNTS) {
  kind sequence partsLeft totalCount connectedCount changedIds removedIds removed
} }`;

interface WatchOptions {
  readonly filter?: { readonly clientIds: readonly string[] } | { readonly value: string; readonly mode: string };
  readonly counts?: boolean;
}

interface ClientWatch {
  /** Milliseconds from the subscription to the last part of the snapshot. */
  readonly snapshotMs: number;
  readonly parts: number;
  readonly bytes: number;
  /** Bytes of all events until now. */
  readonly received: () => number;
  /** Resolves with the text of the next event that contains `text`. */
  next(text: string): Promise<string>;
  close(): void;
}

export async function watchClients(
  url: string,
  token: string,
  brokerId: string,
  { counts = false, ...selection }: WatchOptions = {},
): Promise<ClientWatch> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  let startedAt = 0;
  let parts = 0;
  let bytes = 0;
  const waiting: { readonly text: string; readonly resolve: (event: string) => void }[] = [];
  const snapshotMs = await new Promise<number>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('close', (code) => reject(new Error(`Closed: ${code}`)));
    socket.once('open', () =>
      socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } })),
    );
    socket.on('message', (data: Buffer) => {
      const head = data.toString('latin1', 0, 200);
      if (head.includes('"connection_ack"')) {
        startedAt = performance.now();
        const variables = { id: brokerId, ...selection };
        const payload = { query: counts ? WATCH_COUNTS : WATCH, variables };
        socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload }));
      } else if (head.includes('"errors"') || head.includes('"error"')) {
        reject(new Error(data.toString().slice(0, 500)));
      } else if (head.includes('"partsLeft"')) {
        parts += 1;
        bytes += data.length;
        if (head.includes('"partsLeft":0,')) resolve(performance.now() - startedAt);
        if (waiting.length === 0) return;
        const text = data.toString();
        const index = waiting.findIndex((wanted) => text.includes(wanted.text));
        if (index >= 0) waiting.splice(index, 1)[0]?.resolve(text);
      }
    });
  });
  const [snapshotParts, snapshotBytes] = [parts, bytes];
  return {
    snapshotMs,
    parts: snapshotParts,
    bytes: snapshotBytes,
    received: () => bytes,
    next: (text) => new Promise((resolve) => waiting.push({ text, resolve })),
    close: () => socket.terminate(),
  };
}
