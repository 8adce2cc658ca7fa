interface ByteBudgetOptions {
  readonly maxBytes: number;
  /** Default: `maxBytes`. */
  readonly maxBytesPerKey?: number;
}

interface Share {
  bytes: number;
  /** Holds that can be evicted, the oldest first. */
  readonly evictable: Set<Hold>;
}

/**
 * Budget of bytes in memory, shared by keys such as networks. Beyond a bound, the oldest evictable hold of the key with
 * the most bytes is released and called back. A hold that grows loses itself if nothing else can be evicted.
 */
export class ByteBudget {
  readonly #maxBytes: number;
  readonly #maxBytesPerKey: number;
  readonly #shares = new Map<string, Share>();
  usedBytes = 0;

  constructor({ maxBytes, maxBytesPerKey = maxBytes }: ByteBudgetOptions) {
    this.#maxBytes = maxBytes;
    this.#maxBytesPerKey = maxBytesPerKey;
  }

  /** Opens a hold of 0 bytes. `onEvicted` is called at most once, and must free what the hold counts. */
  hold(key: string, onEvicted: () => void): Hold {
    return new Hold(key, onEvicted, this.#resize);
  }

  readonly #resize: Resize = (hold, bytes) => {
    const more = bytes - hold.bytes;
    if (more > 0 && !this.#makeRoom(hold, more)) return false;
    this.usedBytes += more;
    const share = this.#shares.get(hold.key) ?? { bytes: 0, evictable: new Set() };
    share.bytes += more;
    if (bytes > 0 && hold.canBeEvicted) share.evictable.add(hold);
    else share.evictable.delete(hold);
    if (share.bytes > 0) this.#shares.set(hold.key, share);
    else this.#shares.delete(hold.key);
    return true;
  };

  #makeRoom(hold: Hold, more: number): boolean {
    const { key } = hold;
    const own = () => (this.#shares.get(key)?.bytes ?? 0) + more;
    while (own() > this.#maxBytesPerKey || this.usedBytes + more > this.#maxBytes) {
      const loser = own() > this.#maxBytesPerKey ? key : this.#largest(key, own());
      // The hold that grows may be the oldest itself.
      if (!this.#evictOldest(loser) || hold.isOver) return false;
    }
    return true;
  }

  #largest(key: string, bytes: number): string {
    let largest = key;
    let most = bytes;
    for (const [other, share] of this.#shares) {
      if (share.bytes <= most) continue;
      largest = other;
      most = share.bytes;
    }
    return largest;
  }

  #evictOldest(key: string): boolean {
    for (const hold of this.#shares.get(key)?.evictable ?? []) {
      hold.evict();
      return true;
    }
    return false;
  }
}

type Resize = (hold: Hold, bytes: number) => boolean;

export class Hold {
  readonly key: string;
  readonly #onEvicted: () => void;
  readonly #resize: Resize;
  bytes = 0;
  canBeEvicted = true;
  isOver = false;

  constructor(key: string, onEvicted: () => void, resize: Resize) {
    this.key = key;
    this.#onEvicted = onEvicted;
    this.#resize = resize;
  }

  /** Returns whether the budget has room. If not, the hold keeps its bytes, or was evicted. */
  resize(bytes: number): boolean {
    if (this.isOver || !this.#resize(this, bytes)) return false;
    this.bytes = bytes;
    return true;
  }

  /** The bytes cannot be given back before `release`. */
  pin(): void {
    this.canBeEvicted = false;
    if (!this.isOver) this.#resize(this, this.bytes);
  }

  /** Safe to call twice. */
  release(): void {
    if (this.isOver) return;
    this.#resize(this, 0);
    this.bytes = 0;
    this.isOver = true;
  }

  evict(): void {
    this.release();
    this.#onEvicted();
  }
}
