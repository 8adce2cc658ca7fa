/**
 * The allowed return addresses: other owners would receive the code for the session. An address may be below an allowed
 * one and have a query, but no fragment, which contains the code.
 */
export class ReturnAddresses {
  readonly #base: URL;
  readonly #allowed: readonly URL[];

  /** `own` is the base URL of this service, with or without a trailing slash. It is always allowed. */
  constructor(own: string, allowed: readonly string[]) {
    this.#base = new URL(own.endsWith('/') ? own : `${own}/`);
    this.#allowed = [this.#base, ...allowed.map((address) => new URL(address))];
  }

  /** The absolute return address, or `null` if it is not allowed. Default: GraphiQL of this service. */
  resolve(wanted: string | null): string | null {
    if (wanted === null || wanted === '') return new URL('graphql', this.#base).href;
    // Relative addresses are resolved against this service.
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
