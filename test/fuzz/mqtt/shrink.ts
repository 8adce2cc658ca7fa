import type { FuzzPacket } from './packets.ts';
import type { Sequence } from './sequence.ts';

interface ShrinkOptions {
  /** Whether a sequence still shows the failure. */
  readonly fails: (sequence: Sequence) => Promise<boolean>;
  /** When to stop, in milliseconds since the epoch. */
  readonly deadline: number;
}

/** Returns a shorter sequence that also fails, without unnecessary steps, packets and parts of packets. */
export async function shrink(sequence: Sequence, { fails, deadline }: ShrinkOptions): Promise<Sequence> {
  const stillFails = async (candidate: Sequence) => Date.now() < deadline && (await fails(candidate));
  let shortest = await withoutParts(sequence, stillFails);
  for (const [index] of shortest.entries()) {
    const replaced = (packets: readonly FuzzPacket[]): Sequence =>
      shortest.map((other, at) => (at === index && other.do === 'send' ? { ...other, packets } : other));
    const step = shortest[index];
    if (step?.do !== 'send') continue;
    let packets = await withoutParts(step.packets, (fewer) => stillFails(replaced(fewer)));
    for (const [at] of packets.entries()) {
      for (const simpler of simplerThan(packets[at])) {
        const candidate = packets.map((packet, place) => (place === at ? simpler(packet) : packet));
        if (await stillFails(replaced(candidate))) packets = candidate;
      }
    }
    shortest = replaced(packets);
  }
  return shortest;
}

/** Delta debugging: removes halves, then quarters and so on, as long as the rest fails. */
async function withoutParts<T>(
  list: readonly T[],
  fails: (list: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let left = list;
  for (let size = Math.ceil(list.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    // From the end, because the last parts are often unnecessary.
    for (let from = left.length - size; from > -size; from -= size) {
      const fewer = [...left.slice(0, Math.max(0, from)), ...left.slice(from + size)];
      if (fewer.length > 0 && fewer.length < left.length && (await fails(fewer))) left = fewer;
    }
  }
  return left;
}

/** Functions that each remove one part of the packet. */
function simplerThan(packet: FuzzPacket | undefined): ((packet: FuzzPacket) => FuzzPacket)[] {
  if (!packet) return [];
  const changes: ((packet: FuzzPacket) => FuzzPacket)[] = [];
  for (const part of ['damage', 'will', 'properties', 'keepAlive', 'retain', 'dup'] as const) {
    if (part in packet) changes.push((whole) => ({ ...whole, [part]: undefined }));
  }
  if ('filters' in packet && packet.filters.length > 1) {
    for (const one of packet.filters) changes.push((whole) => ({ ...whole, filters: [one] }) as FuzzPacket);
  }
  if ('will' in packet && packet.will?.properties) {
    changes.push((whole) =>
      whole.type === 'connect' && whole.will ? { ...whole, will: { ...whole.will, properties: [] } } : whole,
    );
  }
  for (const [index] of (packet.properties ?? []).entries()) {
    changes.push((whole) => ({ ...whole, properties: packet.properties?.slice(index, index + 1) ?? [] }));
  }
  return changes;
}
