import { Response } from '@whatwg-node/server';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { cookieValue } from '../../../gateway/http/cookie-value.ts';
import { type FetchHandler, type RequestOrigin, targetOf } from '../../../gateway/http/fetch-handler.ts';
import { PLAIN_HEADERS, plainPage } from '../../../gateway/http/plain-page.ts';
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
  readonly addressOf: (request: Request, origin: RequestOrigin) => string;
  readonly log: Logger;
}

/**
 * The sign-in of browsers: `GET /auth/oidc` redirects to the provider, which redirects back to `GET
 * /auth/oidc/callback`. A cookie binds the sign-in to the browser (RFC 9700 4.7.1). It grants no rights.
 */
export function oidcEntries({ signIn, addressOf, log }: OidcEntriesOptions): FetchHandler {
  const begun = new LRUCache<string, { count: number }>({ max: MAX_CALLERS, ttl: 60_000 });
  const { protocol, pathname } = new URL(signIn.redirectUri);
  const attributes = [
    `Path=${pathname.slice(0, -'/callback'.length)}`,
    'HttpOnly',
    'SameSite=Lax',
    ...(protocol === 'https:' ? ['Secure'] : []),
  ].join('; ');

  const begin = async (_request: Request, address: string, query: string) => {
    const caller = networkOf(address);
    const counter = begun.get(caller) ?? { count: 0 };
    if (counter.count === 0) begun.set(caller, counter);
    counter.count += 1;
    if (counter.count > MAX_PER_MINUTE) {
      const text = 'Too many sign-ins were started from your network; try again in a minute';
      throw new ServiceError('RATE_LIMITED', text, { info: { retryAfterSeconds: 60 } });
    }
    const wanted = new URLSearchParams(query);
    const { location, state, browser } = await signIn.begin(wanted.get('returnTo'), wanted.get('challenge'));
    return redirect(location, `${cookieOf(state)}=${browser}; Max-Age=${COOKIE_S}; ${attributes}`);
  };

  const end = async ({ headers }: Request, address: string, query: string) => {
    const name = cookieOf(new URLSearchParams(query).get('state') ?? '');
    const location = await signIn.end(query, cookieValue(headers.get('cookie'), name), address);
    const cookie = `${name}=; Max-Age=0; ${attributes}`;
    return location === null ? page(400, UNKNOWN_SIGN_IN, { 'set-cookie': cookie }) : redirect(location, cookie);
  };

  return (request, origin) => {
    const [path, query = ''] = split(targetOf(request));
    const entry = path === BEGIN ? begin : path === CALLBACK ? end : null;
    if (entry === null) return page(404, 'This page does not exist.');
    if (request.method !== 'GET') return page(405, 'Only GET is allowed.', { allow: 'GET' });
    if (query.length > MAX_QUERY) return page(400, 'The address is too long.');
    return entry(request, addressOf(request, origin), query).catch((error: unknown) => refusal(error, log));
  };
}

function split(url: string): [string, string] {
  const mark = url.indexOf('?');
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)];
}

/** One cookie for each sign-in, because users begin several ones in browser tabs. */
const cookieOf = (state: string): string => `brokergraph_sign_in_${hashSecret(state).slice(0, 12)}`;

const UNKNOWN_SIGN_IN =
  'This sign-in is unknown: it was used before, has expired, or began in another browser. Begin again.';

const redirect = (location: string, cookie: string): Response =>
  new Response(null, { status: 302, headers: { ...PLAIN_HEADERS, location, 'set-cookie': cookie } });

function refusal(error: unknown, log: Logger): Response {
  if (error instanceof ServiceError && error.code !== 'INTERNAL_ERROR') {
    const { retryAfterSeconds } = error.info ?? {};
    const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
    return page(error.status, `${error.message}.`, headers);
  }
  log.error({ err: error }, 'a sign-in failed');
  return page(500, 'An internal error occurred; see the log of the service.');
}

/** `text` must not contain input of the caller. */
const page = (status: number, text: string, headers: Readonly<Record<string, string>> = {}): Response =>
  plainPage(status, { title: 'Sign in', text, headers });
