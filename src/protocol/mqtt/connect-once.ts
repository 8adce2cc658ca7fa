import { ServiceError } from '../../platform/errors.ts';
import { failureOf } from './link-failure.ts';
import { openSplitClient, type SplitClientOptions } from './split-client.ts';

const IGNORED = { onPublish: () => undefined, onAcknowledgement: () => undefined, onRelease: () => undefined };

/** Connects with a clean session, which deletes the broker's one, and disconnects. Errors: BROKER_UNREACHABLE. */
export async function connectOnce({ client: options, ...bounds }: SplitClientOptions): Promise<void> {
  const { properties: _, ...clientOptions } = options;
  const connection = openSplitClient({ ...bounds, client: { ...clientOptions, clean: true } }, IGNORED);
  try {
    await new Promise<void>((resolve, reject) => {
      connection.client.once('connect', () => resolve());
      connection.client.on('error', reject);
      connection.client.once('close', () => reject(new Error('closed')));
    });
  } catch (error) {
    throw new ServiceError('BROKER_UNREACHABLE', failureOf(error).text, { cause: error });
  } finally {
    await connection.end();
  }
}
