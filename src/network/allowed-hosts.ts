import { type LookupOptions, lookup as resolve } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** A name whose answers lead elsewhere than the operator allows. */
export class HostNotAllowed extends Error {
  override readonly name = 'HostNotAllowed';
  readonly code = 'EHOSTNOTALLOWED';
}

const NOT_ALLOWED = 'names a host that is not allowed here';

/** This machine, and what is reached on its link alone: where names lead that were rebound. RFC 6890, 2.2.2 and 2.2.3. */
const INSIDE = blockListOf(['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '::/127', 'fe80::/10']);

/**
 * Where the operator lets this service connect to (BROKER_ALLOWED_HOSTS): names, addresses, and networks as `10.0.0.0/8`. An empty list
 * allows everything. Names are held against the list by what they say, and then, at each connection, by what they lead to: where networks
 * are listed, to an address of the list; otherwise not to this machine (but for `localhost`) nor its link, unless the address is listed.
 */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>;
  readonly #addresses: BlockList;
  readonly #hasNetworks: boolean;
  readonly #isOpen: boolean;

  constructor(list: readonly string[]) {
    const entries = list.map(unbracketed);
    const isNumeric = (entry: string) => isIP(entry) !== 0 || networkOf(entry) !== null;
    this.#names = new Set(entries.filter((entry) => !isNumeric(entry)));
    this.#addresses = blockListOf(entries.filter(isNumeric));
    this.#hasNetworks = entries.some((entry) => networkOf(entry) !== null);
    this.#isOpen = entries.length === 0;
  }

  /** Why nothing may connect to it, whatever it leads to; null: it may. IPv6 addresses with brackets or without. */
  refusal(hostname: string): string | null {
    const host = unbracketed(hostname);
    const isAllowed = this.#isOpen || (isIP(host) === 0 ? this.#names.has(host) : this.#lists(host));
    return isAllowed ? null : NOT_ALLOWED;
  }

  /** For sockets: finds the addresses that a name may lead to; undefined: whatever the system finds. Errors: also HostNotAllowed. */
  get lookup(): LookupFunction | undefined {
    return this.#isOpen ? undefined : (name, options, done) => this.#lookUp(name, options, done);
  }

  #lookUp(name: string, options: LookupOptions, done: Parameters<LookupFunction>[2]): void {
    if (this.refusal(name) !== null) {
      process.nextTick(done, new HostNotAllowed(`"${name}" ${NOT_ALLOWED}`), '', 0);
      return;
    }
    resolve(name, { ...options, all: true }, (error, found) => {
      const allowed = found?.filter(({ address }) => this.#leadsTo(name, address)) ?? [];
      const [first] = allowed;
      if (error) done(error, '', 0);
      else if (first === undefined)
        done(new HostNotAllowed(`"${name}" leads to an address that is not allowed here`), '', 0);
      else if (options.all) done(null, allowed);
      else done(null, first.address, first.family);
    });
  }

  #leadsTo(name: string, address: string): boolean {
    if (this.#lists(address)) return true;
    if (this.#hasNetworks) return false;
    return /(^|\.)localhost$/i.test(name) || !INSIDE.check(address, familyOf(address));
  }

  #lists(address: string): boolean {
    return this.#addresses.check(address, familyOf(address));
  }
}

/** Whether it is a name, an address or a network. */
export const isHostEntry = (entry: string): boolean =>
  isIP(unbracketed(entry)) !== 0 || networkOf(entry) !== null || /^[^\s/:[\]]+$/.test(entry);

function unbracketed(host: string): string {
  return host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

function networkOf(entry: string): { readonly address: string; readonly bits: number } | null {
  const [, address = '', bits = ''] = /^(.*)\/(\d{1,3})$/.exec(entry) ?? [];
  const version = isIP(address);
  return version === 0 || Number(bits) > (version === 6 ? 128 : 32) ? null : { address, bits: Number(bits) };
}

function blockListOf(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const network = networkOf(entry);
    if (network === null) list.addAddress(entry, familyOf(entry));
    else list.addSubnet(network.address, network.bits, familyOf(network.address));
  }
  return list;
}
