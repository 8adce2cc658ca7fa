const NONE: Buffer[] = [];

/**
 * Received bytes that are not parsed yet, with the members of `BufferList` of bl that mqtt-packet 9.0.2 uses. It is
 * smaller than a list of bl, which is also two streams. Several chunks are copied to one when a field is read beyond
 * the first.
 */
export class ReceivedBytes {
  length = 0;
  _bufs = NONE;
  /** Where the unread bytes of the first chunk begin. */
  #at = 0;

  append(bytes: Buffer): void {
    if (bytes.length === 0) return;
    if (this.length === 0) this._bufs = [bytes];
    else this._bufs.push(bytes);
    this.length += bytes.length;
  }

  consume(bytes: number): void {
    if (bytes <= 0) return;
    this.length = Math.max(0, this.length - bytes);
    this.#at += bytes;
    if (this.length === 0) {
      this.#at = 0;
      this._bufs = NONE;
      return;
    }
    for (let first = this._bufs[0]; first && this.#at >= first.length; first = this._bufs[0]) {
      this.#at -= first.length;
      this._bufs.shift();
    }
  }

  slice(start = 0, end = this.length): Buffer {
    const to = Math.min(end, this.length);
    return this.#until(to).subarray(this.#at + start, this.#at + to);
  }

  toString(encoding: BufferEncoding, start: number, end: number): string {
    return this.#until(end).toString(encoding, this.#at + start, this.#at + end);
  }

  readUInt8(at: number): number {
    return this.#until(at + 1).readUInt8(this.#at + at);
  }

  readUInt16BE(at: number): number {
    return this.#until(at + 2).readUInt16BE(this.#at + at);
  }

  readUInt32BE(at: number): number {
    return this.#until(at + 4).readUInt32BE(this.#at + at);
  }

  /** A chunk with all bytes before `end`. */
  #until(end: number): Buffer {
    const [first = EMPTY] = this._bufs;
    if (this.#at + end <= first.length || this._bufs.length < 2) return first;
    const all = Buffer.concat(this._bufs);
    this._bufs = [all];
    return all;
  }
}

const EMPTY = Buffer.alloc(0);
