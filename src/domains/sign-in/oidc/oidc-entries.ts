import type { IncomingMessage, ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { HttpHandler } from '../../../gateway/http/cross-origin.ts';
import { hashSecret } from '../../../platform/auth/secrets.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { networkOf } from '../../../platform/limits/network.ts';
import type { OidcSignIn } from './oidc-sign-in.ts';

const BEGIN = '/auth/oidc';
const CALLBACK = '/auth/oidc/callback';
const COOKIE_S = 600;
const MAX_PER_MINUTE = 60;
/** Maximum number of counted networks. Beyond it the one unused for longest is evicted. */
const MAX_CALLERS = 10_000;
const MAX_QUERY = 8_192;

interface OidcEntriesOptions {
  readonly signIn: OidcSignIn;
  readonly addressOf: (req: IncomingMessage) => string;
  readonly log: Logger;
}

/**
 * The sign-in of browsers: `GET /auth/oidc` redirects to the provider, which redirects back to `GET
 * /auth/oidc/callback`. A cookie, the only one of this service, binds the sign-in to the browser (RFC 9700 4.7.1). It
 * grants no rights.
 */
export function oidcEntries({ signIn, addressOf, log }: OidcEntriesOptions): HttpHandler {
  const begun = new LRUCache<string, { count: number }>({ max: MAX_CALLERS, ttl: 60_000 });
  const { protocol, pathname } = new URL(signIn.redirectUri);
  const attributes = [
    `Path=${pathname.slice(0, -'/callback'.length)}`,
    'HttpOnly',
    'SameSite=Lax',
    ...(protocol === 'https:' ? ['Secure'] : []),
  ].join('; ');

  const begin = async (req: IncomingMessage, res: ServerResponse, query: string) => {
    const caller = networkOf(addressOf(req));
    const counter = begun.get(caller) ?? { count: 0 };
    if (counter.count === 0) begun.set(caller, counter);
    counter.count += 1;
    if (counter.count > MAX_PER_MINUTE) {
      const text = 'Too many sign-ins were started from your network; try again in a minute';
      throw new ServiceError('RATE_LIMITED', text, { info: { retryAfterSeconds: 60 } });
    }
    const wanted = new URLSearchParams(query);
    const { location, state, browser } = await signIn.begin(wanted.get('returnTo'), wanted.get('challenge'));
    res.setHeader('set-cookie', `${cookieOf(state)}=${browser}; Max-Age=${COOKIE_S}; ${attributes}`);
    redirect(res, location);
  };

  const end = async (req: IncomingMessage, res: ServerResponse, query: string) => {
    const name = cookieOf(new URLSearchParams(query).get('state') ?? '');
    const location = await signIn.end(query, cookieIn(req.headers.cookie, name), addressOf(req));
    res.setHeader('set-cookie', `${name}=; Max-Age=0; ${attributes}`);
    if (location === null) page(res, 400, UNKNOWN_SIGN_IN);
    else redirect(res, location);
  };

  return {
    handle(req, res) {
      const [path, query = ''] = split(req.url ?? '/');
      const entry = path === BEGIN ? begin : path === CALLBACK ? end : null;
      if (entry === null) return page(res, 404, 'This page does not exist.');
      if (req.method !== 'GET') {
        res.setHeader('allow', 'GET');
        return page(res, 405, 'Only GET is allowed.');
      }
      if (query.length > MAX_QUERY) return page(res, 400, 'The address is too long.');
      entry(req, res, query).catch((error: unknown) => refuse(res, error, log));
    },
  };
}

function split(url: string): [string, string] {
  const mark = url.indexOf('?');
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)];
}

/** One cookie for each sign-in, because users begin several ones in browser tabs. */
const cookieOf = (state: string): string => `brokergraph_sign_in_${hashSecret(state).slice(0, 12)}`;

function cookieIn(header: string | undefined, name: string): string | null {
  for (const part of (header ?? '').split(';')) {
    const [key, value] = part.trim().split('=');
    if (key === name && value) return value;
  }
  return null;
}

const UNKNOWN_SIGN_IN =
  'This sign-in is unknown: it was used before, has expired, or began in another browser. Begin again.';

const SAFE = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
} as const;

function redirect(res: ServerResponse, location: string): void {
  res.writeHead(302, { ...SAFE, location }).end();
}

function refuse(res: ServerResponse, error: unknown, log: Logger): void {
  if (res.headersSent || res.destroyed) return;
  if (error instanceof ServiceError && error.code !== 'INTERNAL_ERROR') {
    const { retryAfterSeconds } = error.info ?? {};
    if (retryAfterSeconds !== undefined) res.setHeader('retry-after', String(retryAfterSeconds));
    page(res, error.status, `${error.message}.`);
  } else {
    log.error({ err: error }, 'a sign-in failed');
    page(res, 500, 'An internal error occurred; see the log of the service.');
  }
}

/** `text` must not contain input of the caller. */
function page(res: ServerResponse, status: number, text: string): void {
  const style = 'font-family: system-ui, sans-serif; max-width: 32rem; margin: 4rem auto; padding: 0 1rem';
  res.writeHead(status, { ...SAFE, 'content-type': 'text/html; charset=utf-8' });
  res.end(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Sign in</title><body style="${style}"><h1>Sign in</h1><p>${text}</p>`,
  );
}
