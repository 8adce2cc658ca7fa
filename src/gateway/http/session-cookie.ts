import { ServiceError } from '../../platform/errors.ts';
import { cookieValue } from './cookie-value.ts';

type Fields = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Services at several ports or below several paths of one host receive each other's cookies, so port and path are part
 * of the name.
 */
function placeOf(publicUrl: string | undefined, ownPort: number | undefined): string {
  const { port, pathname } = publicUrl === undefined ? { port: ownPort || '', pathname: '' } : new URL(publicUrl);
  return `${port === '' ? '' : `-${port}`}${pathname.replaceAll(/[^a-z\d]+/gi, '-').replace(/-$/, '')}`;
}

interface SessionCookieOptions {
  /** Address of the service in browsers; `undefined`: plain http. */
  readonly publicUrl?: string | undefined;
  /** Of the service, if there is no `publicUrl`. 0 or undefined: any, which is not part of the name. */
  readonly port?: number | undefined;
  /** Seconds after which a browser forgets the cookie. */
  readonly maxAge: number;
}

/**
 * The session of a browser, in a cookie that no script can read. Only requests of pages of this service may use it, so
 * other sites cannot act for the user. Programs send `Authorization`, which takes precedence.
 */
export class SessionCookie {
  readonly #name: string;
  readonly #attributes: string;
  readonly #maxAge: number;
  readonly #origin: string | null;

  constructor({ publicUrl, port, maxAge }: SessionCookieOptions) {
    const isSecure = publicUrl?.startsWith('https:') === true;
    // With this prefix, no other host and no page over plain http can set the cookie (RFC 6265bis 4.1.3.2).
    this.#name = `${isSecure ? '__Host-' : ''}brokergraph-session${placeOf(publicUrl, port)}`;
    this.#attributes = `Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
    this.#maxAge = maxAge;
    this.#origin = publicUrl === undefined ? null : new URL(publicUrl).origin;
  }

  /** Value of `Set-Cookie`. */
  containing(token: string): string {
    return `${this.#name}=${token}; Max-Age=${this.#maxAge}; ${this.#attributes}`;
  }

  /** Value of `Set-Cookie` that deletes the cookie. */
  get deleted(): string {
    return `${this.#name}=; Max-Age=0; ${this.#attributes}`;
  }

  /**
   * The value of `Authorization`, from the header field or from the cookie. Errors: NOT_ALLOWED for a cookie that is
   * not sent by a page of this service.
   */
  authorizationOf(headers: Fields): string | undefined {
    const { authorization, cookie } = headers;
    if (typeof authorization === 'string') return authorization;
    const token = typeof cookie === 'string' ? cookieValue(cookie, this.#name) : null;
    if (token === null) return undefined;
    this.requireOwnPage(headers);
    return `Bearer ${token}`;
  }

  /** Errors: NOT_ALLOWED if a browser sent the request for another site, or another program sent it. */
  requireOwnPage({ 'sec-fetch-site': site, origin, host }: Fields): void {
    const isOwn = site === undefined ? this.#isOwnOrigin(origin, host) : site === 'same-origin';
    if (!isOwn) throw new ServiceError('NOT_ALLOWED', 'Only pages of this service may use the session of a browser');
  }

  /** For browsers without fetch metadata, and for WebSockets. A proxy may have changed `Host`. */
  #isOwnOrigin(origin: Fields[string], host: Fields[string]): boolean {
    if (typeof origin !== 'string' || !URL.canParse(origin)) return false;
    return origin === this.#origin || new URL(origin).host === host;
  }
}
