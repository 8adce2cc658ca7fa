import { parsePath } from './json-path.ts';
import { quoted } from './json-text.ts';

/** Where an item's value goes. */
export interface Target {
  readonly item: number;
  /** A path. */
  readonly path: string;
}

/**
 * The JSON object that a query makes, as text around the values of its items: keys in the order in which the items first name
 * them. Text, because no object need be made to be written, and no key can mean anything to it.
 */
export interface OutputTemplate {
  /** One more than items. */
  readonly texts: readonly string[];
  /** In the order in which their values are written. */
  readonly items: readonly number[];
}

/** No target is another one or lies within it. */
export function outputTemplate(targets: readonly Target[]): OutputTemplate {
  const root: Branch = new Map();
  for (const { item, path } of targets) place(root, parsePath(path) ?? [], item);
  const texts: string[] = [];
  const items: number[] = [];
  let text = '';
  const write = (branch: Branch): void => {
    text += '{';
    let comma = '';
    for (const [key, node] of branch) {
      text += `${comma}${quoted(key)}:`;
      comma = ',';
      if (typeof node !== 'number') {
        write(node);
        continue;
      }
      texts.push(text);
      items.push(node);
      text = '';
    }
    text += '}';
  };
  write(root);
  texts.push(text);
  return { texts, items };
}

type Branch = Map<string, Branch | number>;

function place(root: Branch, keys: readonly string[], item: number): void {
  let branch = root;
  for (const [depth, key] of keys.entries()) {
    if (depth === keys.length - 1) branch.set(key, item);
    else {
      let next = branch.get(key);
      if (!(next instanceof Map)) {
        next = new Map();
        branch.set(key, next);
      }
      branch = next;
    }
  }
}
