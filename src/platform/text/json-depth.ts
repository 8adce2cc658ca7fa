import { ExactNumber } from './exact-number.ts';

/**
 * Levels of a value of a message that is written again. Before Node 26 JSON.stringify compares each level with all
 * levels above it, and fails when the stack is full.
 */
export const MAX_WRITTEN_LEVELS = 1_000;
export const TOO_DEEP_TO_WRITE = `has more than ${MAX_WRITTEN_LEVELS} levels`;

/** Whether objects and lists are nested in more than `levels` levels. Calls itself for each of these levels. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return false;
  if (levels === 0) return true;
  const values: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return values.some((inner) => isDeeper(inner, levels - 1));
}
