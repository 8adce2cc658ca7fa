import { type LookupOptions, lookup as resolve } from 'node:dns';
import { type BlockList, isIP, type LookupFunction } from 'node:net';
import { networkOf } from '../../platform/network/address-range.ts';
import { blockListOf, familyOf, isOutside, literalOf, unbracketed } from '../../platform/network/addresses.ts';

class HostNotAllowed extends Error {
  override readonly name = 'HostNotAllowed';
  readonly code = 'EHOSTNOTALLOWED';
}

/** Internal addresses (this machine, link-local and metadata services) that need no list entry. */
export type InsideRule = 'NONE' | 'ALL';

const NOT_LISTED = 'is not an allowed host: add it to the setting BROKER_ALLOWED_HOSTS';
const INSIDE =
  'is this machine, its link-local network or a metadata service: only a root administrator may use it, or the operator adds it to the setting BROKER_ALLOWED_HOSTS';

const ANY = '*';

/**
 * Hosts that this service may connect to: names, addresses, networks such as `10.0.0.0/8`, and `*`.
 *
 * An empty list, or one with `*`, allows every external host, and internal addresses that it contains or `inside`
 * allows. Any other list allows its entries only. A name is checked twice: its text, and at each connection the
 * addresses that it resolves to. If a list without `*` contains networks, the addresses must be in the list. Otherwise
 * they must be external, except for a listed `localhost`.
 */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>;
  readonly #addresses: BlockList;
  readonly #hasNetworks: boolean;
  readonly #isOpen: boolean;
  readonly #inside: InsideRule;

  /** `inside` applies if the list is empty or contains `*`. Default: ALL. */
  constructor(list: readonly string[], inside: InsideRule = 'ALL') {
    const entries = list.map(unbracketed);
    const isNumeric = (entry: string) => isIP(entry) !== 0 || networkOf(entry) !== null;
    this.#names = new Set(entries.filter((entry) => !isNumeric(entry)));
    this.#addresses = blockListOf(entries.filter(isNumeric));
    this.#hasNetworks = entries.some((entry) => networkOf(entry) !== null);
    this.#isOpen = entries.length === 0 || this.#names.has(ANY);
    this.#inside = inside;
  }

  /** Returns why a host is not allowed, or `null`. IPv6 addresses may have brackets. */
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

  /** Resolver that returns allowed addresses only; `undefined` if all are allowed. Errors: DNS, HostNotAllowed. */
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
      const allowed = found?.filter(({ address }) => this.#isAllowedAddress(name, address)) ?? [];
      const [first] = allowed;
      if (error) done(error, '', 0);
      else if (first === undefined)
        done(
          new HostNotAllowed(`"${name}" resolves to an address that is not allowed (setting BROKER_ALLOWED_HOSTS)`),
          '',
          0,
        );
      else if (options.all) done(null, allowed);
      else done(null, first.address, first.family);
    });
  }

  #isAllowedAddress(name: string, address: string): boolean {
    if (this.#lists(address)) return true;
    if (this.#isOpen) return this.#permits(address) || (isLocalhost(name) && this.#names.has(name.toLowerCase()));
    if (this.#hasNetworks) return false;
    return isLocalhost(name) || isOutside(address);
  }

  #permitsName(name: string): boolean {
    return !isLocalhost(name) || this.#names.has(name) || this.#inside === 'ALL';
  }

  #permits(address: string): boolean {
    if (this.#inside === 'ALL' || this.#lists(address)) return true;
    return isOutside(address);
  }

  #lists(address: string): boolean {
    return this.#addresses.check(address.split('%')[0] ?? '', familyOf(address));
  }
}

export const isLocalHost = (host: string): boolean =>
  isLocalhost(host) || (isIP(unbracketed(host)) !== 0 && /^(127\.|::1$)/.test(unbracketed(host)));

const isLocalhost = (name: string): boolean => /(^|\.)localhost\.?$/i.test(name);
