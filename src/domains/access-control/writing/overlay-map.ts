/** A map with changes of another one, which stays as it is and is not copied. */
export class OverlayMap<Value> implements ReadonlyMap<string, Value> {
  readonly #base: ReadonlyMap<string, Value>;
  /** Values that were set; `undefined` for deleted ones. */
  readonly #changes = new Map<string, Value | undefined>();
  #size: number;

  constructor(base: ReadonlyMap<string, Value>) {
    this.#base = base;
    this.#size = base.size;
  }

  get size(): number {
    return this.#size;
  }

  get(key: string): Value | undefined {
    return this.#changes.has(key) ? this.#changes.get(key) : this.#base.get(key);
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  set(key: string, value: Value): void {
    if (!this.has(key)) this.#size += 1;
    this.#changes.set(key, value);
  }

  delete(key: string): void {
    if (this.has(key)) this.#size -= 1;
    this.#changes.set(key, undefined);
  }

  /** In the order of the other map, then those that were added. */
  *entries(): MapIterator<[string, Value]> {
    for (const [key, original] of this.#base) {
      const value = this.#changes.has(key) ? this.#changes.get(key) : original;
      if (value !== undefined) yield [key, value];
    }
    for (const [key, value] of this.#changes) if (value !== undefined && !this.#base.has(key)) yield [key, value];
  }

  *keys(): MapIterator<string> {
    for (const [key] of this.entries()) yield key;
  }

  *values(): MapIterator<Value> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries();
  }

  forEach(callback: (value: Value, key: string, map: ReadonlyMap<string, Value>) => void): void {
    for (const [key, value] of this.entries()) callback(value, key, this);
  }
}
