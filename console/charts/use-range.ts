import { useEffect, useState } from 'react';
import { onReturn } from '../graph/connectivity.ts';
import { useAddressValues } from '../ui/address-values.ts';
import { addressOfRange, limited, movesEvery, type Range, rangeIn, type Span, spanOf } from './range.ts';

interface ShownRange {
  /** Whether a person has chosen it. */
  readonly isChosen: boolean;
  readonly range: Range;
  readonly span: Span;
  /** The browser's "back" returns to the range before. */
  readonly choose: (range: Range) => void;
  /** Shows another time, as far as the history may have it. */
  readonly zoom: (span: Span) => void;
}

/** The range of the charts, which is in the address. */
export function useRange(): ShownRange {
  const { values, set } = useAddressValues();
  const range = rangeIn(values);
  const now = useNow(movesEvery(range));
  const choose = (next: Range) => set(addressOfRange(next), 'PUSH');
  return {
    isChosen: ['range', 'from', 'to'].some((key) => values.has(key)),
    range,
    span: spanOf(range, now),
    choose,
    zoom: (span) => choose({ key: 'custom', span: limited(span, Date.now()) }),
  };
}

/** The time in steps, while the page is visible. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const tick = () => {
      if (document.visibilityState === 'visible') setNow(Date.now());
    };
    tick();
    const timer = setInterval(tick, everyMs);
    const stop = onReturn(tick);
    return () => {
      clearInterval(timer);
      stop();
    };
  }, [everyMs]);
  return Math.floor(now / everyMs) * everyMs;
}
