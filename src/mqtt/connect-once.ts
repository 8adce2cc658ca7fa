import { ServiceError } from '../errors.ts';
import type { ConnectOptions } from './connect-options.ts';
import { endClient } from './end-client.ts';
import { failureOf } from './link-failure.ts';
import { openClient } from './open-client.ts';

/**
 * Connects with a clean session and disconnects at once, so that no session is left of the client id, whatever there was.
 * Errors: BROKER_UNREACHABLE.
 */
export async function connectOnce({ properties: _, ...options }: ConnectOptions): Promise<void> {
  const client = openClient({ ...options, clean: true });
  try {
    await new Promise<void>((resolve, reject) => {
      client.once('connect', () => resolve());
      client.on('error', reject);
      client.once('close', () => reject(new Error('closed')));
    });
  } catch (error) {
    throw new ServiceError('BROKER_UNREACHABLE', failureOf(error).text, { cause: error });
  } finally {
    await endClient(client);
  }
}
