import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { isFields } from '../../../protocol/control/fields.ts';
import { isPlace, placeOf } from './secret-text.ts';

/** An object that contains values: as it will be, once known, and as it was. */
export interface Container {
  now: unknown;
  readonly before: unknown;
}

/** An object around a value, with the key that leads to it, and the objects around this object. */
export interface Around {
  readonly container: Container;
  readonly key: string;
  readonly outer: Around | null;
}

/** Equal addresses have the same number; 0 if there are none. */
interface Addresses {
  readonly whole: number;
  readonly byKey: ReadonlyMap<string, number>;
}

const NO_ADDRESSES: Addresses = { whole: 0, byKey: new Map() };

/**
 * Finds secrets that would be sent to other addresses (placeOf) than before. The order of lists is irrelevant. Each
 * object is read once, so the time is linear in the size of the configurations.
 */
export class AddressChanges {
  readonly #numbers = new Map<string, number>();
  readonly #addresses = new Map<object, Addresses>();
  readonly #changedKeys = new Map<Container, ReadonlySet<string>>();
  readonly #moved = new Map<Around, boolean>();

  /** Whether an address in one of the objects around a secret has changed. Yields for each value that it reads. */
  *isMoved(around: Around | null): SlicedTask<boolean> {
    if (around === null) return false;
    const known = this.#moved.get(around);
    if (known !== undefined) return known;
    const isMoved = (yield* this.#isChanged(around)) || (yield* this.isMoved(around.outer));
    this.#moved.set(around, isMoved);
    return isMoved;
  }

  /** A list that leads to the secret is left out, because each of its entries has addresses of its own. */
  *#isChanged({ container, key }: Around): SlicedTask<boolean> {
    const keys = this.#changedKeys.get(container) ?? (yield* this.#compared(container));
    if (keys.size > 1 || !keys.has(key)) return keys.size > 0;
    const now = yield* this.#withoutList(container.now, key);
    return now !== (yield* this.#withoutList(container.before, key));
  }

  *#compared(container: Container): SlicedTask<ReadonlySet<string>> {
    const now = (yield* this.#of(container.now)).byKey;
    const before = (yield* this.#of(container.before)).byKey;
    const changed = new Set<string>();
    for (const key of [...now.keys(), ...before.keys()]) if (now.get(key) !== before.get(key)) changed.add(key);
    this.#changedKeys.set(container, changed);
    return changed;
  }

  *#withoutList(value: unknown, key: string): SlicedTask<number> {
    if (!isFields(value) || Array.isArray(value[key])) return 0;
    return (yield* this.#of(value)).byKey.get(key) ?? 0;
  }

  *#of(value: unknown): SlicedTask<Addresses> {
    if (!isFields(value)) return NO_ADDRESSES;
    const known = this.#addresses.get(value);
    if (known !== undefined) return known;
    const byKey = new Map<string, number>();
    for (const [key, entry] of Object.entries(value)) {
      const number = yield* this.#numberOf(key, entry);
      if (number > 0) byKey.set(key, number);
    }
    const pairs = Array.from(byKey, ([key, number]) => this.#number(`${number} ${key}`));
    const addresses = { whole: this.#ofAll('object', pairs), byKey };
    this.#addresses.set(value, addresses);
    return addresses;
  }

  *#numberOf(name: string, value: unknown): SlicedTask<number> {
    yield;
    if (isFields(value)) return (yield* this.#of(value)).whole;
    if (!Array.isArray(value)) return isPlace(name, value) ? this.#number(`is ${placeOf(String(value))}`) : 0;
    const entries: number[] = [];
    for (const entry of value) {
      const number = yield* this.#numberOf(name, entry);
      if (number > 0) entries.push(number);
    }
    return this.#ofAll('list', entries);
  }

  #ofAll(kind: string, numbers: readonly number[]): number {
    return numbers.length === 0 ? 0 : this.#number(`${kind} ${Uint32Array.from(numbers).sort().join()}`);
  }

  #number(text: string): number {
    const number = this.#numbers.get(text) ?? this.#numbers.size + 1;
    this.#numbers.set(text, number);
    return number;
  }
}
