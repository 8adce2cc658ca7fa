/** A subscriber to `connectedClients` that does not parse events, because parsing would delay its own measurements. */
import { WebSocket } from 'ws';

const WATCH = `subscription ($id: ID!) { connectedClients(brokerId: $id) {
  kind sequence partsLeft removed clients { clientId username address protocol protocolVersion connected lastConnect lastDisconnect }
} }`;

interface ClientWatch {
  /** Milliseconds from the subscription to the last part of the snapshot. */
  readonly snapshotMs: number;
  readonly parts: number;
  readonly bytes: number;
  /** Resolves with the text of the next event that contains `text`. */
  next(text: string): Promise<string>;
  close(): void;
}

export async function watchClients(url: string, token: string, brokerId: string): Promise<ClientWatch> {
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
        const payload = { query: WATCH, variables: { id: brokerId } };
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
    next: (text) => new Promise((resolve) => waiting.push({ text, resolve })),
    close: () => socket.terminate(),
  };
}
