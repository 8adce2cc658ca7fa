/** A page, and the script and style sheet that it loads, which `scripts/page-files.mjs` has written to a folder. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Response } from '@whatwg-node/server';
import { emptyResponse } from './fetch-handler.ts';
import { isCurrent } from './static-files.ts';

/** Whether a browser navigates to the address. */
export const wantsPage = ({ method, headers }: Request): boolean =>
  (method === 'GET' || method === 'HEAD') && headers.get('accept')?.includes('text/html') === true;

/** Responds with the page of a folder. `policy` is its Content Security Policy. */
export function pageOf(folder: URL, policy: string): (request: Request) => Response {
  const page = Buffer.from(readFileSync(new URL('page.html', folder)));
  const etag = `"${createHash('sha256').update(page).digest('base64url')}"`;
  return ({ method, headers }) => {
    const fields = {
      etag,
      'cache-control': 'no-cache',
      'content-security-policy': policy,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    };
    if (isCurrent(headers.get('if-none-match'), etag)) return emptyResponse(304, fields);
    return new Response(method === 'HEAD' ? null : page, {
      headers: { ...fields, 'content-type': 'text/html; charset=utf-8', 'content-length': String(page.length) },
    });
  };
}
