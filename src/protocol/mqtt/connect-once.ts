import { ServiceError } from '../../platform/errors.ts';
import { endClient } from './end-client.ts';
import { failureOf } from './link-failure.ts';
import { openSplitClient, type SplitClientOptions } from './split-client.ts';

/** Messages are of no interest. */
const NOTHING = { onPublish: () => undefined, onAnswer: () => undefined, onRelease: () => undefined };

/**
 * Connects with a clean session and disconnects at once, so that no session is left of the client id, whatever there was.
 * Errors: BROKER_UNREACHABLE.
 */
export async function connectOnce({ client: options, ...bounds }: SplitClientOptions): Promise<void> {
  const { properties: _, ...clientOptions } = options;
  const { client } = openSplitClient({ ...bounds, client: { ...clientOptions, clean: true } }, NOTHING);
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
