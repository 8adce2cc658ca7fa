/** Declarations are exported only if another file of src, test or bench imports them. */
import { lineOf, sources } from './sources.mjs';

/** Files that tools import. */
const ENTRIES = ['src/main.ts', 'test/support/global-setup.ts'];

export function exportFaults() {
  const used = new Map();
  for (const { imports } of sources)
    for (const { from, names } of imports) {
      if (!used.has(from)) used.set(from, new Set());
      for (const name of names) used.get(from).add(name);
    }
  return sources.flatMap(({ path, text, exports }) => {
    const names = used.get(path) ?? new Set();
    if (ENTRIES.includes(path) || names.has('*') || !/^(?:src|test|bench)\//.test(path)) return [];
    return exports
      .filter(({ name }) => !names.has(name))
      .map(({ name, start }) => `${path}:${lineOf(text, start)}: no other file imports ${name}`);
  });
}
