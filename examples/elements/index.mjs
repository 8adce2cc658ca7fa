/**
 * The server of another team, with a page of its own. CORS_ORIGINS of the service must have its origin. Pages without a
 * Content Security Policy need none of it. BROKER_ID: the broker that the page shows.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { print, projectId, token, url, webSocketUrl } from '../settings.mjs';

const { BROKER_ID = '', PORT = '8080' } = process.env;
const HTML = 'text/html; charset=utf-8';
const read = (name) => readFileSync(new URL(name, import.meta.url), 'utf8');
const page = read('index.html')
  .replaceAll('$SERVICE', url)
  .replaceAll('$PROJECT', projectId)
  .replaceAll('$BROKER', BROKER_ID);
const files = {
  '/': [HTML, page],
  '/page.js': ['text/javascript', read('page.js')],
  '/token': ['application/json', JSON.stringify({ token })],
};
const policy = `default-src 'none'; script-src 'self' ${url}; connect-src 'self' ${url} ${new URL(webSocketUrl).origin}`;

createServer((request, response) => {
  const [type, text] = files[request.url] ?? [HTML, null];
  response.writeHead(text === null ? 404 : 200, { 'content-type': type, 'content-security-policy': policy });
  response.end(text);
}).listen(Number(PORT), '127.0.0.1', () => print({ url: `http://127.0.0.1:${PORT}/` }));
