import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { addressKey, networkOf } from './address-range.ts';

const INSIDE = blockListOf([
  // This machine and its network link (RFC 6890, 2.2.2 and 2.2.3).
  '0.0.0.0/8',
  '127.0.0.0/8',
  '::/127',
  '169.254.0.0/16',
  'fe80::/10',
  // Metadata services of clouds that are not link-local: Amazon, Google, Alibaba, Azure, Oracle.
  'fd00:ec2::/32',
  'fd20:ce::254',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  // Teredo (RFC 4380): holds two IPv4 addresses, of which one is masked, and is not in use any more.
  '2001::/32',
]);

/** IPv6 prefixes in front of an IPv4 address, with the index of the first of its two groups. */
const EMBEDDING: readonly (readonly [BlockList, group: number])[] = [
  // IPv4-compatible and IPv4-mapped (RFC 4291, 2.5.5), IPv4-translated (RFC 2765), NAT64 (RFC 6052, RFC 8215).
  [blockListOf(['::/96', '::ffff:0:0/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48']), 6],
  // 6to4 (RFC 3056).
  [blockListOf(['2002::/16']), 1],
];

/** The addresses of this machine's interfaces are read again after this time: containers and leases change them. */
const OWN_FRESH_MS = 60_000;
let own = new BlockList();
let ownReadAt = Number.NEGATIVE_INFINITY;

function ownAddresses(): BlockList {
  const now = performance.now();
  if (now - ownReadAt >= OWN_FRESH_MS) {
    own = blockListOf(Object.values(networkInterfaces()).flatMap((found = []) => found.map(({ address }) => address)));
    ownReadAt = now;
  }
  return own;
}

/**
 * Whether an address leads neither to this machine, at any of its interfaces, nor to its network link or the metadata
 * service of a cloud, in all spellings that contain another address. Not for names.
 */
export function isOutside(text: string): boolean {
  const address = text.split('%')[0] ?? '';
  const family = familyOf(address);
  if (INSIDE.check(address, family) || ownAddresses().check(address, family)) return false;
  const [, group] = (family === 'ipv6' && EMBEDDING.find(([prefixes]) => prefixes.check(address, family))) || [];
  return group === undefined || isOutside(embedded(address, group));
}

/** The IPv4 address that resolvers take a host for, as `127.1` or `0x7f000001`; the host itself if it is none. */
export function literalOf(host: string): string {
  if (isIP(host) !== 0 || !/^[0-9a-fx.]+$/i.test(host)) return host;
  const url = `http://${host}/`;
  const parsed = URL.canParse(url) ? new URL(url).hostname : host;
  return isIP(parsed) === 4 ? parsed : host;
}

export function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

export const unbracketed = (host: string): string => host.toLowerCase().replace(/^\[(.*)\]$/, '$1');

/** Whether a text is a host name, an IP address or a network such as `10.0.0.0/8`. */
export const isHostEntry = (entry: string): boolean =>
  isIP(unbracketed(entry)) !== 0 || networkOf(entry) !== null || /^[^\s/:[\]]+$/.test(entry);

export function blockListOf(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const network = networkOf(entry);
    if (network === null) list.addAddress(entry, familyOf(entry));
    else list.addSubnet(network.address, network.bits, familyOf(network.address));
  }
  return list;
}

/** Of an IPv6 address. */
function embedded(address: string, group: number): string {
  const digits = addressKey(address)?.slice(1 + group * 4) ?? '';
  return [0, 2, 4, 6].map((at) => Number.parseInt(digits.slice(at, at + 2), 16)).join('.');
}
