import type { ControlApi } from './envelope.ts';

/**
 * Batches commands into payloads. A group has separate ones, limited by MAX_BYTES only: its caller limits the writes.
 */
const MAX_COMMANDS = 100;
/** Mosquitto 2.0 saves its whole dynamic security file after each write and blocks meanwhile. */
const MAX_WRITES = 10;
/** A quarter of the packet size that Mosquitto 2.1 accepts by default. */
const MAX_BYTES = 500_000;

const READS = /^(get|list|is[A-Z])|Count$/;
export const isRead = (command: string): boolean => READS.test(command);

export interface Queued {
  readonly command: string;
  readonly text: string;
  readonly group: symbol | null;
}

export function* payloadsOf<T extends Queued>(queue: readonly T[]): Generator<T[]> {
  let payload: T[] = [];
  let writes = 0;
  let bytes = 0;
  for (const pending of queue) {
    const write = isRead(pending.command) ? 0 : 1;
    const size = Buffer.byteLength(pending.text);
    const isFull =
      pending.group !== payload[0]?.group ||
      bytes + size > MAX_BYTES ||
      (pending.group === null && (payload.length >= MAX_COMMANDS || writes + write > MAX_WRITES));
    if (isFull && payload.length > 0) {
      yield payload;
      payload = [];
      writes = 0;
      bytes = 0;
    }
    payload.push(pending);
    writes += write;
    bytes += size;
  }
  if (payload.length > 0) yield payload;
}

/**
 * Removes null fields, because Mosquitto reads null as a wrong type; at every depth for dynamic security. Other APIs
 * contain documents of users, such as a query, so only the command's own fields are changed.
 */
export function withoutNulls(api: ControlApi, fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const present = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(
    api === 'dynamic-security' ? present.map(([key, value]) => [key, deepWithoutNulls(value)]) : present,
  );
}

function deepWithoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== null && item !== undefined).map(deepWithoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const present = Object.entries(value).filter(([, item]) => item !== null && item !== undefined);
  return Object.fromEntries(present.map(([key, item]) => [key, deepWithoutNulls(item)]));
}
