import { createHash } from 'node:crypto';
import { listStreamPlaces } from '../../data-plane/streams/control/stream-control.ts';
import type { StreamEntry } from '../../data-plane/streams/control/stream-wire.ts';
import { invalid } from '../../platform/errors.ts';
import { cursorOf, placeIn } from '../../platform/sorting/places.ts';
import type { ControlCaller } from '../../protocol/control/plugin.ts';

type Entries = readonly (StreamEntry | null)[];

/**
 * Cursors in the streams of a broker. The control API lists streams by position only, and a deleted stream moves those
 * behind it forwards. A cursor therefore also has marks of the names before it, by which its place is found again. If
 * none of them is left, the list starts again: entries may be repeated, but none is left out.
 */
const BY_POSITION = { field: 'Stream', direction: 'asc' } as const;
const MAX_MARKS = 50;
const MARK = /.{6}/gu;
const UNREADABLE = '------';

interface StreamPlace {
  /** Number of streams before it. */
  readonly position: number;
  /** Of the last streams before it, as far as the caller has read them. */
  readonly marks: readonly string[];
}

const markOf = (entry: StreamEntry | null): string =>
  entry === null
    ? UNREADABLE
    : createHash('sha1').update(entry.definition.name).digest('base64url').slice(0, UNREADABLE.length);

/** Returns the cursors behind each of the `items`, the first of which is at `offset`, on the page after a place. */
export function cursorsOf(items: Entries, offset: number, { marks }: StreamPlace): readonly string[] {
  const all = [...marks, ...items.map(markOf)];
  return items.map((_, index) => {
    const key = all.slice(0, marks.length + index + 1).slice(-MAX_MARKS);
    return cursorOf({ value: offset + index + 1, key: key.join('') }, BY_POSITION);
  });
}

/** Errors: INVALID. */
export function placeAfter(cursor: string | null | undefined): StreamPlace {
  if (cursor == null) return { position: 0, marks: [] };
  const { value, key } = placeIn(cursor, BY_POSITION);
  const marks = (key.match(MARK) ?? []).slice(-MAX_MARKS);
  if (Number.isSafeInteger(value) && Number(value) > 0 && marks.length > 0) return { position: Number(value), marks };
  throw invalid([{ path: 'after', reason: 'is not a cursor of this list' }]);
}

/** Lists `count` streams from `skipped` behind a place: one query, and more if the streams before it have moved. */
export async function listStreamsAfter(
  controls: ControlCaller,
  { position, marks }: StreamPlace,
  { count, skipped }: { readonly count: number; readonly skipped: number },
) {
  const from = async (offset: number) => ({ offset, ...(await listStreamPlaces(controls, { offset, count })) });
  if (position === 0) return from(skipped);
  const overlapping = await listStreamPlaces(controls, { offset: position - 1, count: count + skipped + 1 });
  const [before, ...items] = overlapping.items;
  if (before !== undefined && markOf(before) === marks.at(-1)) {
    return { ...overlapping, offset: position + skipped, items: items.slice(skipped) };
  }
  const { items: all } = await listStreamPlaces(controls);
  const isKnown = all.map((entry) => marks.includes(markOf(entry)));
  // A stream that was created again is at the end, after others that the caller does not know.
  const begin = marks.length < position ? Math.max(0, isKnown.indexOf(true)) : 0;
  const end = isKnown.indexOf(false, begin);
  return from((end === -1 ? all.length : end) + skipped);
}
