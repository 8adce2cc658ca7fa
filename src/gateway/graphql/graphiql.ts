/** GraphiQL in a browser: a page, and its script and style sheet, which `scripts/graphiql` bundles. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Response } from '@whatwg-node/server';
import { emptyResponse } from '../http/fetch-handler.ts';
import { isCurrent, staticFiles } from '../http/static-files.ts';

const FOLDER = new URL('../../generated/graphiql/', import.meta.url);

/** Users enter a token, so the page may load from and connect to this service only, and no other page may frame it. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'";

export const graphiqlFiles = staticFiles(FOLDER);

/** Whether a browser navigates to /graphql. */
export const wantsPage = ({ method, headers }: Request): boolean =>
  (method === 'GET' || method === 'HEAD') && headers.get('accept')?.includes('text/html') === true;

export function graphiqlPage(): (request: Request) => Response {
  const page = Buffer.from(readFileSync(new URL('page.html', FOLDER)));
  const etag = `"${createHash('sha256').update(page).digest('base64url')}"`;
  return ({ method, headers }) => {
    const fields = {
      etag,
      'cache-control': 'no-cache',
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    };
    if (isCurrent(headers.get('if-none-match'), etag)) return emptyResponse(304, fields);
    return new Response(method === 'HEAD' ? null : page, {
      headers: { ...fields, 'content-type': 'text/html; charset=utf-8', 'content-length': String(page.length) },
    });
  };
}
