import { ExactNumber } from '../../../platform/text/exact-number.ts';
import { type Fields, isFields } from '../../../protocol/control/fields.ts';

/**
 * Paths of queries, `[key][key]`. A key is any text without `]`. Paths select keys of objects only; arrays can only be
 * copied whole.
 */

export function parsePath(path: string): readonly string[] | null {
  return PATH.test(path) ? path.slice(1, -1).split('][') : null;
}

const PATH = /^(?:\[[^\]]+\])+$/;

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
  // Inherited keys are not part of the message. Only keys of Object.prototype need the ownership check.
  if (key in Object.prototype) {
    return (value) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined);
  }
  return (value) => (isObject(value) ? value[key] : undefined);
}

const isObject = (value: unknown): value is Fields => isFields(value) && !(value instanceof ExactNumber);
