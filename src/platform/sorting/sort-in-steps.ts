import type { SlicedTask } from '../scheduling/sliced-task.ts';

/** Number of items that are sorted or merged before other work runs. */
const ITEMS_PER_STEP = 64;

/** Returns the items in order, equal ones in their previous order. For lists with which sort() blocks the process. */
export function* sortInSteps<T>(items: readonly T[], compare: (one: T, other: T) => number): SlicedTask<T[]> {
  let sorted = [...items];
  for (let at = 0; at < sorted.length; at += ITEMS_PER_STEP) {
    const run = sorted.slice(at, at + ITEMS_PER_STEP).sort(compare);
    for (const [index, item] of run.entries()) sorted[at + index] = item;
    yield;
  }
  for (let size = ITEMS_PER_STEP; size < sorted.length; size *= 2) {
    const merged: T[] = [];
    for (let at = 0; at < sorted.length; at += 2 * size) {
      const [middle, end] = [Math.min(at + size, sorted.length), Math.min(at + 2 * size, sorted.length)];
      let [left, right] = [at, middle];
      while (left < middle || right < end) {
        const isLeft = right === end || (left < middle && compare(sorted[left] as T, sorted[right] as T) <= 0);
        merged.push(sorted[isLeft ? left++ : right++] as T);
        if (merged.length % ITEMS_PER_STEP === 0) yield;
      }
    }
    sorted = merged;
  }
  return sorted;
}
