import type { TopicSettings } from '../model/topic-settings.ts';

const SHORTEST_MS = 10 * 60 * 1_000;
const LONGEST_MS = 60 * 60 * 1_000;

/** Time in milliseconds after the last request at which a recording stops, unless it is always on. */
export const idleMs = ({ ttlSeconds }: Pick<TopicSettings, 'ttlSeconds'>): number =>
  Math.min(LONGEST_MS, Math.max(SHORTEST_MS, 2 * ttlSeconds * 1_000));
