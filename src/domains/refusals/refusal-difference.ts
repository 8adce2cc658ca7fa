import type { Refusal } from '../../protocol/apis/refusals/refusal.ts';
import type { RefusalList } from './refusal-list.ts';

interface State extends RefusalList {
  readonly removed: readonly string[];
  readonly isConnected: boolean;
}

/** Entries of one event. */
const EVENT_REFUSALS = 200;

/** The changes of a list, in events of at most EVENT_REFUSALS entries; none if nothing changed. */
export function differenceOf<S extends State>(before: S, now: S): S[] {
  const isOtherLog = before.log !== now.log;
  const isChanged = isOtherLog || before.sequence !== now.sequence || before.dropped !== now.dropped;
  if (!isChanged) return before.isConnected === now.isConnected ? [] : [{ ...now, refusals: [], removed: [] }];
  const left = new Set(now.refusals.map(({ id }) => id));
  const removed = before.refusals.flatMap(({ id }) => (left.has(id) ? [] : [id]));
  const changed = now.refusals.filter(({ sequence }) => isOtherLog || sequence > before.sequence);
  const [first = [], ...rest] = piecesOf(changed);
  return [{ ...now, refusals: first, removed }, ...rest.map((refusals) => ({ ...now, refusals, removed: [] }))];
}

export function splitList<S extends State>(state: S): { readonly first: S; readonly rest: readonly S[] } {
  const [first = [], ...rest] = piecesOf(state.refusals);
  return { first: { ...state, refusals: first }, rest: rest.map((refusals) => ({ ...state, refusals })) };
}

const piecesOf = (refusals: readonly Refusal[]): (readonly Refusal[])[] =>
  Array.from({ length: Math.ceil(refusals.length / EVENT_REFUSALS) }, (_, index) =>
    refusals.slice(index * EVENT_REFUSALS, (index + 1) * EVENT_REFUSALS),
  );
