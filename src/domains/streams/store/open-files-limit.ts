import { readFileSync } from 'node:fs';

/** Where the system cannot be asked, and where it allows little. */
const FEW = 128;
/** Each takes some 200 KiB of memory while it is open. */
const MOST = 1_024;
/** Of what the process may open, for the two handles of each segment; brokers and clients need theirs, too. */
const SHARE = 1 / 8;

/**
 * How many segments may be open at a time. With more streams that store than that, each message waits for a file to be closed and
 * another one to be opened, so it is as many as `limits` allow: `/proc/self/limits` of Linux; null: not known.
 */
export function segmentsToOpen(limits: string | null): number {
  const soft = /^Max open files +(\d+|unlimited)/m.exec(limits ?? '')?.[1];
  if (soft === undefined) return FEW;
  const most = soft === 'unlimited' ? MOST : Math.floor((Number(soft) * SHARE) / 2);
  return Math.min(MOST, Math.max(FEW, most));
}

export function limitsOfProcess(): string | null {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return null;
  }
}
