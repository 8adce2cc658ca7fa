import type { ReadingTime } from './reading-time.ts';
import { UnfinishedPackets } from './unfinished-packets.ts';

/** Limits on the input of all links of one thread. */
export interface Intake {
  readonly unfinished: UnfinishedPackets;
  /** `null`: no limit, as in worker threads. */
  readonly time: ReadingTime | null;
}

export const newIntake = (time: ReadingTime | null = null): Intake => ({ unfinished: new UnfinishedPackets(), time });
