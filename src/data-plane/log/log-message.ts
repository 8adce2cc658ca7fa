/** Times in epoch milliseconds, inclusive. `null`: unbounded. */
export interface TimeBounds {
  readonly from: number | null;
  readonly to: number | null;
}

export interface NewMessage {
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: 0 | 1 | 2;
}

export interface StoredMessage {
  /** Increases with each message of a log: epoch microseconds of arrival, but at least the previous id plus one. */
  readonly id: number;
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
}

/** Ids, inclusive. */
export interface IdRange {
  readonly from: number;
  readonly to: number;
}

export interface ReadOptions extends TimeBounds {
  readonly after: number | null;
  readonly reverse: boolean;
  readonly limit: number;
  /** Of all payloads; the first message is read whatever its size. */
  readonly maxBytes: number;
}

/** What a message counts in addition to its topic and payload, about as much as it takes on disk. */
const MESSAGE_BYTES = 32;

export const bytesOf = ({ topic, payload }: Pick<StoredMessage, 'topic' | 'payload'>): number =>
  payload.length + topic.length + MESSAGE_BYTES;

/** How many of the first messages are at most so many and have at most so many bytes, but at least one. */
export function countWithin(sizes: readonly { readonly bytes: number }[], messages: number, bytes: number): number {
  let [count, sum] = [0, 0];
  for (const size of sizes) {
    sum += size.bytes;
    if (count > 0 && (count >= messages || sum > bytes)) break;
    count += 1;
  }
  return count;
}

export const idRange = ({ from, to }: TimeBounds): IdRange => ({
  from: from === null ? 0 : Math.ceil(from * 1_000),
  to: to === null ? Number.MAX_SAFE_INTEGER : Math.floor(to * 1_000) + 999,
});

/** The ids within the bounds that `read` returns. */
export function readableRange(options: ReadOptions): IdRange {
  const { from, to } = idRange(options);
  const { after, reverse } = options;
  if (after === null) return { from, to };
  return reverse ? { from, to: Math.min(to, after - 1) } : { from: Math.max(from, after + 1), to };
}

export const asBuffer = (payload: Uint8Array | string): Buffer => {
  if (typeof payload === 'string') return Buffer.from(payload);
  return Buffer.isBuffer(payload) ? payload : Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
};

/** Returns the epoch milliseconds of a stored message's id. */
export const storedAt = (id: number): number => Math.floor(id / 1_000);
