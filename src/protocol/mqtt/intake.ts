import type { ReadingTime } from './reading-time.ts';
import { UnfinishedPackets } from './unfinished-packets.ts';

/** What the links of one thread share for what brokers send them. */
export interface Intake {
  readonly unfinished: UnfinishedPackets;
  /** Null: links read as much as comes, as in worker threads, which serve no requests. */
  readonly time: ReadingTime | null;
}

export const newIntake = (time: ReadingTime | null = null): Intake => ({ unfinished: new UnfinishedPackets(), time });
