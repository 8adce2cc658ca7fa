import { isIP } from 'node:net';
import { hostname } from 'node:os';

const MAX_CACHED = 1_000;
/** Such a header would change the path of the URL of a request. */
const NOT_IN_A_HOST = /[/\\?#@\s]/;

interface KnownHostsOptions {
  readonly host: string;
  readonly publicUrl?: string | undefined;
  /** Further names; `*.example.com` is any name below `example.com`, `*` is any name. */
  readonly allowed?: readonly string[];
}

/**
 * Checks `Host` headers against DNS rebinding: a DNS name of another site that resolves to this service. IP addresses
 * are accepted, because rebinding needs a name; so is a missing header, because every browser sends one.
 */
export class KnownHosts {
  readonly #names: ReadonlySet<string>;
  readonly #suffixes: readonly string[];
  readonly #acceptsAll: boolean;
  readonly #accepted = new Set<string>();

  constructor({ host, publicUrl, allowed = [] }: KnownHostsOptions) {
    const listed = allowed.map((name) => name.toLowerCase());
    const own = publicUrl === undefined ? [] : [new URL(publicUrl).hostname];
    this.#names = new Set(['localhost', host.toLowerCase(), hostname().toLowerCase(), ...own, ...listed]);
    this.#suffixes = listed.filter((name) => name.startsWith('*.')).map((name) => name.slice(1));
    this.#acceptsAll = listed.includes('*');
  }

  accepts(header: string | undefined): boolean {
    if (header === undefined || this.#accepted.has(header)) return true;
    if (NOT_IN_A_HOST.test(header)) return false;
    if (!this.#acceptsAll && !this.#isKnown(nameIn(header))) return false;
    if (this.#accepted.size >= MAX_CACHED) this.#accepted.clear();
    this.#accepted.add(header);
    return true;
  }

  #isKnown(name: string): boolean {
    if (isIP(name) !== 0 || this.#names.has(name)) return true;
    return name.endsWith('.localhost') || this.#suffixes.some((suffix) => name.endsWith(suffix));
  }
}

/** The name or address in lower case, without port, brackets and the dot of a fully qualified name. */
function nameIn(header: string): string {
  const name = /^\[([^\]]*)\](?::\d*)?$/.exec(header)?.[1] ?? header.replace(/:\d*$/, '');
  return name.toLowerCase().replace(/\.$/, '');
}
