import { isIPv6 } from 'node:net';

/** Longer ones are no addresses, and callers behind a proxy choose what is remembered here. */
const MAX_LENGTH = 254;

/**
 * What counts as one caller: an IPv4 address; of IPv6 the network (/64), since its holder has all addresses in it. The port that some
 * proxies tell with the address is no part of it: it is another one for each connection.
 */
export function networkOf(told: string): string {
  const address = /^\[([^\]]*)\](?::\d+)?$/.exec(told)?.[1] ?? told;
  const mapped = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)(?::\d+)?$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address.slice(0, MAX_LENGTH);
  const [head = '', tail] = (address.split('%')[0] ?? '').toLowerCase().split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => group.replace(/^0+(?=.)/, '')));
  const left = groups(head);
  const right = groups(tail ?? '');
  const all = [...left, ...Array(Math.max(8 - left.length - right.length, 0)).fill('0'), ...right];
  return all.slice(0, 4).join(':');
}
