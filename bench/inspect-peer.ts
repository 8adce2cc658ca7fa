/** The peer of inspect.ts: a minimal handler that filters a list in memory. The parent process sends the list. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Client {
  readonly clientid: string;
  readonly username: string;
}

process.on('disconnect', () => process.exit(0));
process.once('message', (clients) => {
  const list = clients as readonly Client[];
  const server = createServer((req, res) => {
    const query = new URL(req.url ?? '/', 'http://localhost').searchParams;
    const value = query.get('filterValue') ?? '';
    const found = list.filter(({ clientid, username }) => clientid.includes(value) || username.includes(value));
    const text = JSON.stringify(found.slice(0, Number(query.get('count'))));
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text);
  });
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
});
