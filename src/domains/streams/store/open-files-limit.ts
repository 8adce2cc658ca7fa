import { readFileSync } from 'node:fs';

/** Minimum, also used when the limit of the process is unknown. */
const FEW = 128;
/** Maximum. Each open segment takes about 200 KiB of memory. */
const MOST = 1_024;
/** Share of the process limit for segments, with two handles each. Brokers and clients need the other handles. */
const SHARE = 1 / 8;

/**
 * Returns the maximum number of open segments, as high as `limits` allow. `limits` is the text of `/proc/self/limits`
 * on Linux, or `null` if unknown. With more storing streams than open segments, each message waits until one file is
 * closed and another is opened.
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
