import { type LookupOptions, lookup as resolve } from 'node:dns';
import { type BlockList, isIP, type LookupFunction } from 'node:net';
import { blockListOf, familyOf, literalOf, networkOf, reachOf, unbracketed } from '../../platform/network/addresses.ts';

/** A name that leads to an address which is not allowed. */
export class HostNotAllowed extends Error {
  override readonly name = 'HostNotAllowed';
  readonly code = 'EHOSTNOTALLOWED';
}

/** Which addresses inside may be reached although the list does not name them: inside are this machine, its network link and metadata services. */
export type InsideRule = 'NONE' | 'LOCAL' | 'ALL';

const NOT_LISTED = 'names a host that is not allowed here (BROKER_ALLOWED_HOSTS)';
const INSIDE =
  'names this machine, its network link or a metadata service, which is not allowed here: a root administrator may enter it, or the operator lists it in BROKER_ALLOWED_HOSTS';

/** Stands for every host that is not inside. */
const ANY = '*';

/**
 * Where this service may connect to (BROKER_ALLOWED_HOSTS): names, addresses, networks as `10.0.0.0/8`, and `*`.
 *
 * An empty list, or one with `*`, allows every host outside. Addresses inside are allowed where the list names them, or by `inside`. Any
 * other list allows what it names. Names are compared with the list as they are written, and at each connection by the addresses that
 * they lead to: where a list without `*` has networks, those of the list; otherwise all outside (and inside for `localhost`, if listed).
 */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>;
  readonly #addresses: BlockList;
  readonly #hasNetworks: boolean;
  readonly #isOpen: boolean;
  readonly #inside: InsideRule;

  /** `inside`: default ALL. Counts where the list is empty or has `*`. */
  constructor(list: readonly string[], inside: InsideRule = 'ALL') {
    const entries = list.map(unbracketed);
    const isNumeric = (entry: string) => isIP(entry) !== 0 || networkOf(entry) !== null;
    this.#names = new Set(entries.filter((entry) => !isNumeric(entry)));
    this.#addresses = blockListOf(entries.filter(isNumeric));
    this.#hasNetworks = entries.some((entry) => networkOf(entry) !== null);
    this.#isOpen = entries.length === 0 || this.#names.has(ANY);
    this.#inside = inside;
  }

  /** Why nothing may connect to a host, whatever it leads to; null: it may. IPv6 addresses with brackets or without. */
  refusal(hostname: string): string | null {
    const host = unbracketed(hostname);
    if (!this.#isOpen) {
      const isAllowed = isIP(host) === 0 ? this.#names.has(host) : this.#lists(host);
      return isAllowed ? null : NOT_LISTED;
    }
    const literal = literalOf(host);
    const isAllowed = isIP(literal) === 0 ? this.#permitsName(host) : this.#permits(literal);
    return isAllowed ? null : INSIDE;
  }

  /** For sockets: finds the addresses that a name may lead to; undefined: all that the system finds. Errors: also HostNotAllowed. */
  get lookup(): LookupFunction | undefined {
    if (this.#isOpen && this.#inside === 'ALL') return undefined;
    return (name, options, done) => this.#lookUp(name, options, done);
  }

  #lookUp(name: string, options: LookupOptions, done: Parameters<LookupFunction>[2]): void {
    const refusal = this.refusal(name);
    if (refusal !== null) {
      process.nextTick(done, new HostNotAllowed(`"${name}" ${refusal}`), '', 0);
      return;
    }
    resolve(name, { ...options, all: true }, (error, found) => {
      const allowed = found?.filter(({ address }) => this.#leadsTo(name, address)) ?? [];
      const [first] = allowed;
      if (error) done(error, '', 0);
      else if (first === undefined)
        done(
          new HostNotAllowed(`"${name}" leads to an address that is not allowed here (BROKER_ALLOWED_HOSTS)`),
          '',
          0,
        );
      else if (options.all) done(null, allowed);
      else done(null, first.address, first.family);
    });
  }

  #leadsTo(name: string, address: string): boolean {
    if (this.#lists(address)) return true;
    if (this.#isOpen) return this.#permits(address) || (isLocalhost(name) && this.#names.has(name.toLowerCase()));
    if (this.#hasNetworks) return false;
    return isLocalhost(name) || reachOf(address) === 'OUTSIDE';
  }

  #permitsName(name: string): boolean {
    return !isLocalhost(name) || this.#names.has(name) || this.#inside !== 'NONE';
  }

  #permits(address: string): boolean {
    if (this.#inside === 'ALL' || this.#lists(address)) return true;
    const reach = reachOf(address);
    return reach === 'OUTSIDE' || (reach === 'LOCAL' && this.#inside === 'LOCAL');
  }

  #lists(address: string): boolean {
    return this.#addresses.check(address.split('%')[0] ?? '', familyOf(address));
  }
}

/** Whether a service that listens there can be reached from its own machine only. */
export const isLocalHost = (host: string): boolean =>
  isLocalhost(host) || (isIP(unbracketed(host)) !== 0 && /^(127\.|::1$)/.test(unbracketed(host)));

const isLocalhost = (name: string): boolean => /(^|\.)localhost\.?$/i.test(name);
