import type { Membership } from '../policy/access-model.ts';

const NONE: readonly Membership[] = [];
const NOBODY: readonly string[] = [];

/** Who names something (a group, a role), by what is named; kept up by `move`. */
export class HolderIndex {
  readonly #holders = new Map<string, Set<string>>();
  /** The names as a list, until somebody comes or leaves: many commands on one thing share one. */
  readonly #lists = new Map<string, readonly string[]>();

  static over<T>(holders: ReadonlyMap<string, T>, namedBy: (holder: T) => readonly Membership[]): HolderIndex {
    const index = new HolderIndex();
    for (const [name, holder] of holders) index.move(name, NONE, namedBy(holder));
    return index;
  }

  /** The list never changes; it is the same one as long as what it says. */
  of(name: string): readonly string[] {
    const holders = this.#holders.get(name);
    if (holders === undefined || holders.size === 0) return NOBODY;
    let list = this.#lists.get(name);
    if (list === undefined) {
      list = [...holders];
      this.#lists.set(name, list);
    }
    return list;
  }

  move(holder: string, before: readonly Membership[] = NONE, after: readonly Membership[] = NONE): void {
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
