import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { Segment } from './segment.ts';
import type { SegmentFolder } from './segment-folder.ts';

const MAX_ROWS = 500;
const MAX_BYTES = 512 * 1024;
const PAGES = 64;

/**
 * Removes a range of ids and returns the number of messages. Files within the range are detached in the first step and
 * then deleted whole. In files that extend beyond the range, only the rows are deleted. Errors: those of the disk.
 */
export function* eraseRange(folder: SegmentFolder, from: number, to: number): SlicedTask<number> {
  const covered: Segment[] = [];
  const partly: Segment[] = [];
  let removed = 0;
  for (const segment of folder.within(from, to)) {
    const facts = folder.look(segment, (each) => each.facts);
    if (facts === null) continue;
    const isCovered = facts.messages === 0 || (facts.first >= from && facts.last <= to);
    if (isCovered) removed += facts.messages;
    (isCovered ? covered : partly).push(segment);
  }
  folder.detach(covered);
  for (const segment of covered) {
    segment.drop();
    yield;
  }
  for (const segment of partly) removed += yield* erase(folder, segment, from, to);
  return removed;
}

/**
 * Deletes the rows of a range from a segment, releases their disk space and returns the number of messages.
 * Errors: those of the disk.
 */
export function* erase(folder: SegmentFolder, segment: Segment, from: number, to: number): SlicedTask<number> {
  const messages = folder.look(segment, ({ facts }) => facts.messages) ?? 0;
  const rows = Math.max(1, Math.min(MAX_ROWS, Math.floor((MAX_BYTES * messages) / Math.max(1, segment.bytes))));
  let removed = 0;
  for (;;) {
    const some = folder.look(segment, (each) => each.change((file) => file.delete(from, to, rows)));
    removed += some ?? 0;
    yield;
    if (some === null || some < rows) break;
  }
  while (folder.look(segment, (each) => each.change((file) => file.shrink(PAGES))) === false) yield;
  if (folder.look(segment, ({ facts }) => facts.messages) === 0) folder.drop(segment);
  return removed;
}
