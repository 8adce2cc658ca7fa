import { useRef } from 'react';

/** The value, or while it cannot be read the last one that could. */
export function useLastKnown<Value>(value: Value | null | undefined, isReadable: boolean): Value | null {
  const last = useRef<Value | null>(null);
  if (isReadable || last.current === null) last.current = value ?? null;
  return last.current;
}
