/** A page, and the script and style sheet that it loads, which `scripts/page-files.mjs` has written to a folder. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Response } from '@whatwg-node/server';
import { JSON_TYPE, RESPONSE_TYPE, weightOf, weightsOf } from './accept.ts';
import { emptyResponse } from './fetch-handler.ts';
import { isCurrent } from './static-files.ts';

const HTML = 'text/html';

/** Whether a browser navigates to the address: it names HTML and prefers no JSON. */
export function wantsPage({ method, headers }: Request): boolean {
  const accept = headers.get('accept')?.toLowerCase() ?? '';
  if ((method !== 'GET' && method !== 'HEAD') || !accept.includes(HTML)) return false;
  const weights = weightsOf(accept);
  const html = weights.get(HTML) ?? 0;
  return html > 0 && [JSON_TYPE, RESPONSE_TYPE].every((type) => weightOf(weights, type) <= html);
}

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
