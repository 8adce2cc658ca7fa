import { isLongPart, placesOf } from '../../../platform/text/text-search.ts';

/**
 * Functions of the library that search a text, in time that is linear in the lengths. `from` is a place within the
 * text. `limit` is the maximum number of parts; negative: none.
 */
const SEARCHES: Readonly<Record<string, (text: string, part: string, third?: number) => unknown>> = {
  contains: (text, part) => !placesOf(part, text).next().done,
  indexOf(text, part, from = 0) {
    for (const place of placesOf(part, text)) if (place >= from) return BigInt(place);
    return -1n;
  },
  lastIndexOf(text, part, from = text.length) {
    let last = -1;
    for (const place of placesOf(part, text)) if (place <= from) last = place;
    return BigInt(last);
  },
  split(text, part, limit = -1) {
    const parts: string[] = [];
    let start = 0;
    for (const place of placesOf(part, text)) {
      if (parts.length === limit - 1) break;
      if (place < start) continue;
      parts.push(text.slice(start, place));
      start = place + part.length;
    }
    return [...parts, text.slice(start)];
  },
};

/** Such as `1h30m` or `-.5s`. The library needs cubic time for digits without a unit. */
const DURATION = /^[+-]?(?:\d{0,19}(?:\.\d{0,19})?(?:ns|us|µs|ms|s|m|h))+$/;
/** Texts that `duration` reads; longer ones are no durations. */
const MAX_DURATION = 50;

/** The result of a call of a function whose time in the library has no bound. `undefined`: the library may call it. */
export function boundedCall(name: string, [text, part, third]: readonly unknown[]): unknown {
  if (typeof text !== 'string') return undefined;
  if (name === 'duration' && (text.length > MAX_DURATION || !DURATION.test(text))) throw new Error('No duration');
  if (typeof part !== 'string' || !isLongPart(part)) return undefined;
  const isOutside = third !== undefined && name !== 'split' && (Number(third) < 0 || Number(third) >= text.length);
  if (isOutside || (name === 'split' && Number(third) === 0)) return undefined;
  return SEARCHES[name]?.(text, part, ...(third === undefined ? [] : [Number(third)]));
}
