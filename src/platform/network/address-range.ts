import { isIP } from 'node:net';

/** Addresses between two keys of `addressKey`, both included. */
export interface AddressRange {
  readonly first: string;
  readonly last: string;
}

/** A text that sorts like the address: IPv4 before IPv6, both by their number. `null` if it is not an IP address. */
export function addressKey(text: string): string | null {
  if (!text.includes(':')) {
    const number = ipv4Of(text);
    return number === null ? null : `4${hexOf(number, 8)}`;
  }
  const address = text.split('%', 1)[0] ?? '';
  if (isIP(address) !== 6) return null;
  const [head = '', tail] = address.split('::');
  const [left, right] = [groupsOf(head), groupsOf(tail ?? '')];
  const zeros = Array<string>(8 - left.length - right.length).fill('0000');
  return `6${[...left, ...(tail === undefined ? [] : zeros), ...right].join('')}`;
}

export function networkOf(entry: string): { readonly address: string; readonly bits: number } | null {
  const [, address = '', bits = ''] = /^(.*)\/(\d{1,3})$/.exec(entry) ?? [];
  const version = isIP(address);
  return version === 0 || Number(bits) > (version === 6 ? 128 : 32) ? null : { address, bits: Number(bits) };
}

/** The addresses of a network such as `10.0.0.0/8`, or a single address. `null` if the text is neither. */
export function addressRangeOf(text: string): AddressRange | null {
  const { address, bits } = networkOf(text) ?? { address: text, bits: null };
  const key = addressKey(address);
  if (key === null) return null;
  if (bits === null) return { first: key, last: key };
  const digits = key.length - 1;
  const number = BigInt(`0x${key.slice(1)}`);
  const others = (1n << BigInt(digits * 4 - bits)) - 1n;
  const keyOf = (value: bigint) => `${key[0]}${value.toString(16).padStart(digits, '0')}`;
  return { first: keyOf((number | others) ^ others), last: keyOf(number | others) };
}

/** Reads the digits itself, because lists of many clients are sorted by their addresses. */
function ipv4Of(text: string): number | null {
  let [number, octet, digits, dots] = [0, 0, 0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit >= 0 && digit <= 9) {
      octet = octet * 10 + digit;
      digits += 1;
      if (digits > 3 || octet > 255) return null;
    } else if (digit === DOT && digits > 0) {
      number = number * 256 + octet;
      [octet, digits] = [0, 0];
      dots += 1;
    } else return null;
  }
  return dots === 3 && digits > 0 ? number * 256 + octet : null;
}

const ZERO = 48;
const DOT = 46 - ZERO;

const hexOf = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');

/** The groups of a part of an IPv6 address, whose end may be written as IPv4. */
function groupsOf(part: string): string[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [group.toLowerCase().padStart(4, '0')];
    const hex = hexOf(ipv4Of(group) ?? 0, 8);
    return [hex.slice(0, 4), hex.slice(4)];
  });
}
