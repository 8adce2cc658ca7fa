import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { Response } from '@whatwg-node/server';
import { acceptedEncoding } from './accepted-encoding.ts';
import { emptyResponse, type FetchHandler, jsonResponse, pathOf, targetOf } from './fetch-handler.ts';

const COPIES = { br: '.br', gzip: '.gz' } as const;
const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  woff2: 'font/woff2',
};

interface File {
  readonly body: Buffer<ArrayBuffer>;
  /** Changes with the contents. */
  readonly tag: string;
}

/**
 * Serves the scripts, style sheets and fonts of a folder. With `hasHashes`, their names contain a hash of their
 * contents, so browsers never request them again. Otherwise browsers ask each time whether they have changed. Each but
 * a font has a copy compressed with Brotli and one with gzip. All are read at the first request.
 */
export function staticFiles(folder: URL, hasHashes = true): FetchHandler {
  let files: ReadonlyMap<string, File> | null = null;
  return (request, { req }) => {
    const { method, headers: sent } = request;
    if (method !== 'GET' && method !== 'HEAD') return emptyResponse(405, { allow: 'GET, HEAD' });
    files ??= new Map(readdirSync(folder).map((name) => [name, fileOf(folder, name, hasHashes)]));
    const path = pathOf(targetOf(request));
    const name = path.slice(path.lastIndexOf('/') + 1);
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
    const accepted = acceptedEncoding(req?.headers['accept-encoding']);
    const copy = accepted === null ? undefined : files.get(`${name}${COPIES[accepted]}`);
    const encoding = copy === undefined ? null : accepted;
    const file = copy ?? files.get(name);
    if (type === undefined || file === undefined) {
      const message = `The path ${path} does not exist`;
      return jsonResponse(404, { message, code: 'NOT_FOUND', status: 404 });
    }
    const { body, tag } = file;
    const etag = `"${tag}"`;
    const headers: Record<string, string> = {
      etag,
      vary: 'Accept-Encoding',
      'cache-control': hasHashes ? 'public, max-age=31536000, immutable' : 'no-cache',
      'x-content-type-options': 'nosniff',
    };
    if (isCurrent(sent.get('if-none-match'), etag)) return emptyResponse(304, headers);
    headers['content-type'] = type;
    headers['content-length'] = String(body.length);
    if (encoding !== null) headers['content-encoding'] = encoding;
    return new Response(method === 'HEAD' ? null : body, { headers });
  };
}

function fileOf(folder: URL, name: string, hasHashes: boolean): File {
  const body = Buffer.from(readFileSync(new URL(name, folder)));
  return { body, tag: hasHashes ? name : createHash('sha256').update(body).digest('base64url') };
}

/** Whether `If-None-Match` has the tag of the current content. */
export function isCurrent(condition: string | null, etag: string): boolean {
  return (
    condition?.trim() === '*' || (condition ?? '').split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
  );
}
