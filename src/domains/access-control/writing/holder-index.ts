import type { Membership } from '../../../protocol/apis/access-control/access-model.ts';

const NONE: readonly Membership[] = [];
const NO_HOLDERS: readonly string[] = [];

export class HolderIndex {
  readonly #holders = new Map<string, Set<string>>();
  /** Cached lists of `#holders`, so that many commands on one role or group share one list. */
  readonly #lists = new Map<string, readonly string[]>();

  static over<T>(holders: ReadonlyMap<string, T>, heldBy: (holder: T) => readonly Membership[]): HolderIndex {
    const index = new HolderIndex();
    for (const [name, holder] of holders) index.update(name, NONE, heldBy(holder));
    return index;
  }

  /** Returns the same list object until the holders change. */
  of(name: string): readonly string[] {
    const holders = this.#holders.get(name);
    if (holders === undefined || holders.size === 0) return NO_HOLDERS;
    let list = this.#lists.get(name);
    if (list === undefined) {
      list = [...holders];
      this.#lists.set(name, list);
    }
    return list;
  }

  update(holder: string, before: readonly Membership[] = NONE, after: readonly Membership[] = NONE): void {
    if (before === after) return;
    for (const { name } of before) if (this.#holders.get(name)?.delete(holder)) this.#lists.delete(name);
    for (const { name } of after) {
      const holders = this.#holders.get(name);
      if (holders) holders.add(holder);
      else this.#holders.set(name, new Set([holder]));
      this.#lists.delete(name);
    }
  }
}
