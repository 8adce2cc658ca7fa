import { setTimeout as pause } from 'node:timers/promises';
import { ServiceError } from '../../../platform/errors.ts';

const TIMEOUT_MS = 1_500;
/** Each pause is twice as long as the previous one. */
const FIRST_PAUSE_MS = 10;

/**
 * Reads until the result is as expected. After a command to a broker whose log is followed, the list of clients shows
 * the effect later than the broker responds.
 *
 * Errors: those of `read`; BROKER_TIMEOUT if the result is not as expected after TIMEOUT_MS.
 */
export async function readUntil<T>(read: () => Promise<T>, isExpected: (result: T) => boolean): Promise<T> {
  const end = Date.now() + TIMEOUT_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
    const result = await read();
    if (isExpected(result)) return result;
    if (Date.now() + pauseMs > end) {
      throw new ServiceError(
        'BROKER_TIMEOUT',
        'The broker has carried out the command, but its log does not show the effect yet: read the client again',
      );
    }
    await pause(pauseMs);
  }
}
