/**
 * Where browsers may be sent after a sign-in. Elsewhere, whoever owns the place would get the code for the session.
 *
 * An address is allowed that is one of the given ones or lies below it; query allowed, fragment not, since that is where the code goes.
 */
export class ReturnAddresses {
  readonly #base: URL;
  readonly #allowed: readonly URL[];

  /** `own`: the base of this service, always allowed, with or without a slash at its end. */
  constructor(own: string, allowed: readonly string[]) {
    this.#base = new URL(own.endsWith('/') ? own : `${own}/`);
    this.#allowed = [this.#base, ...allowed.map((address) => new URL(address))];
  }

  /** The address, whole; null: it is not allowed. Without one: the page of the graph here. */
  resolve(wanted: string | null): string | null {
    if (wanted === null || wanted === '') return new URL('graphql', this.#base).href;
    // What is no address of its own is a place of this service.
    if (!URL.canParse(wanted, this.#base)) return null;
    const address = new URL(wanted, this.#base);
    const isPlain = address.username === '' && address.password === '' && address.hash === '' && !wanted.includes('#');
    return isPlain && this.#allowed.some((known) => isBelow(address, known)) ? address.href : null;
  }
}

function isBelow(address: URL, known: URL): boolean {
  if (address.origin === 'null' || address.origin !== known.origin) return false;
  const folder = known.pathname.endsWith('/') ? known.pathname : `${known.pathname}/`;
  return address.pathname === known.pathname || address.pathname.startsWith(folder);
}
