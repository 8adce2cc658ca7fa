import { isIPv6 } from 'node:net';

/** Callers behind a proxy may send any text as address. */
const MAX_LENGTH = 254;

/**
 * The IPv4 address, or the /64 network of an IPv6 address, because its owner has all addresses in it. Removes a port.
 */
export function networkOf(text: string): string {
  const address = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? text;
  const mapped = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)(?::\d+)?$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address.slice(0, MAX_LENGTH);
  const [head = '', tail] = (address.split('%')[0] ?? '').toLowerCase().split('::');
  const groups = (part: string) => (part === '' ? [] : part.split(':').map((group) => group.replace(/^0+(?=.)/, '')));
  const left = groups(head);
  const right = groups(tail ?? '');
  const all = [...left, ...Array(Math.max(8 - left.length - right.length, 0)).fill('0'), ...right];
  return all.slice(0, 4).join(':');
}
