/**
 * Paths of queries, `[key][key]`. A key is anything without `]`; keys of objects only: arrays have none, and are copied whole.
 */

/** The keys of a path; null: it is none. */
export function parsePath(path: string): readonly string[] | null {
  return PATH.test(path) ? path.slice(1, -1).split('][') : null;
}

const PATH = /^(?:\[[^\]]+\])+$/;

/** The value there is; undefined, which is no JSON: there is none. */
export type ReadPath = (root: unknown) => unknown;

export function compilePath(path: string): ReadPath {
  const steps = (parsePath(path) ?? []).map(compileStep);
  const [first, second, ...others] = steps;
  if (first === undefined) throw new TypeError(`"${path}" is no path`);
  if (second === undefined) return first;
  if (others.length === 0) return (root) => second(first(root));
  return (root) => {
    let value = root;
    for (const step of steps) value = step(value);
    return value;
  };
}

function compileStep(key: string): ReadPath {
  // What objects inherit is in no message; asking for ownership only where that can be costs the others nothing.
  if (key in Object.prototype) {
    return (value) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined);
  }
  return (value) => (isObject(value) ? value[key] : undefined);
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
