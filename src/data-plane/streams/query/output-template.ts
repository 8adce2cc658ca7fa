import { parsePath } from './json-path.ts';
import { quoted } from './json-text.ts';

interface Target {
  readonly item: number;
  readonly path: string;
}

/**
 * Template of a query's output: JSON text around the values of the items, with keys in the order of first use. Writing
 * text needs no intermediate object, so special keys such as `__proto__` have no effect.
 */
interface OutputTemplate {
  readonly texts: readonly string[];
  readonly items: readonly number[];
}

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
