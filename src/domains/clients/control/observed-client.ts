import { setTimeout as pause } from 'node:timers/promises';
import { ServiceError } from '../../../platform/errors.ts';

/** Longest wait, and the first pause between two looks; each is twice as long as the one before. Milliseconds. */
const PATIENCE_MS = 1_500;
const FIRST_PAUSE_MS = 10;

/**
 * What is seen of a client after something was done to it, as soon as that agrees with what the broker has answered: who follows a
 * log sees things later than they are answered.
 *
 * Errors: those of `look`; BROKER_TIMEOUT when it still does not agree after PATIENCE_MS.
 */
export async function onceAgrees<T>(look: () => Promise<T>, agrees: (seen: T) => boolean): Promise<T> {
  const end = Date.now() + PATIENCE_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
    const seen = await look();
    if (agrees(seen)) return seen;
    if (Date.now() + pauseMs > end) {
      throw new ServiceError('BROKER_TIMEOUT', 'The broker has done it, but its clients are not told so yet');
    }
    await pause(pauseMs);
  }
}
