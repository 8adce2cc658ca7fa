import type { Action, Life } from './life.ts';

export interface RecordedEvent {
  readonly kind: string;
  readonly reason: string | null;
  readonly clientId: string | null;
  readonly at: string;
}

export interface RecordedGap {
  readonly from: string;
  readonly to: string;
}

/** An event is at most this much before or after its action: the log of a Mosquitto has seconds only. */
const EARLY_MS = 1_000;
const LATE_MS = 5_000;

/**
 * What the record of one client says that is not true, or does not say: actions outside the gaps without an event, and
 * events without an action. Empty if there is a reading of the record that is true. Events: oldest first.
 */
export function differences(
  { clientId, actions }: Pick<Life, 'clientId' | 'actions'>,
  events: readonly RecordedEvent[],
  gaps: readonly RecordedGap[],
): string[] {
  const spans = gaps.map(({ from, to }) => [Date.parse(from), Date.parse(to)] as const);
  const mayBeMissing = ({ from, to, isSure }: Action) =>
    !isSure || spans.some(([begin, end]) => from <= end && to >= begin);
  const rows = events.map(({ kind, reason, at }) => ({ name: reason ?? kind, at: Date.parse(at) }));
  const isOf = (action: Action, { name, at }: { readonly name: string; readonly at: number }) =>
    action.events.includes(name) && at >= action.from - EARLY_MS && at <= action.to + LATE_MS;
  // The fewest faults of the first actions and the first events.
  const width = rows.length + 1;
  const faults = new Int32Array((actions.length + 1) * width);
  for (let event = 1; event < width; event += 1) faults[event] = event;
  for (const [index, action] of actions.entries()) {
    const [before, here] = [index * width, (index + 1) * width];
    const missing = mayBeMissing(action) ? 0 : 1;
    faults[here] = at(before) + missing;
    for (const [number, row] of rows.entries()) {
      const unpaired = Math.min(at(before + number + 1) + missing, at(here + number) + 1);
      faults[here + number + 1] = isOf(action, row) ? Math.min(unpaired, at(before + number)) : unpaired;
    }
  }
  const found: string[] = [];
  let [action, event] = [actions.length, rows.length];
  while (action > 0 || event > 0) {
    const now = at(action * width + event);
    const [done, row] = [actions[action - 1], rows[event - 1]];
    const isPair = done !== undefined && row !== undefined && isOf(done, row);
    if (isPair && now === at((action - 1) * width + event - 1)) {
      [action, event] = [action - 1, event - 1];
    } else if (done !== undefined && now === at((action - 1) * width + event) + (mayBeMissing(done) ? 0 : 1)) {
      if (!mayBeMissing(done)) found.push(`${clientId} has no ${done.events.join(' or ')} of ${textOf(done)}`);
      action -= 1;
    } else {
      if (row !== undefined) found.push(`${clientId} did not cause ${row.name} at ${new Date(row.at).toISOString()}`);
      event -= 1;
    }
  }
  return found.reverse();

  function at(place: number): number {
    return faults[place] ?? 0;
  }
}

const textOf = ({ from, to }: Action): string => `${new Date(from).toISOString()} to ${new Date(to).toISOString()}`;
