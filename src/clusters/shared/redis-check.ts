import { createClient } from '@redis/client';
import { ServiceError } from '../../errors.ts';

/** The first with all commands that the log of the nodes is made of. */
const LEAST_VERSION = [6, 2] as const;

/**
 * Finds out whether what nodes share can be kept there. Errors: BROKER_UNREACHABLE, with what is wrong and without the secrets of the
 * address.
 */
export async function checkRedis(url: string, timeoutMs: number): Promise<void> {
  const client = createClient({
    url,
    commandOptions: { timeout: timeoutMs },
    socket: { connectTimeout: timeoutMs, reconnectStrategy: false },
  });
  // It is told by the rejection, too.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const reason = unfit(await client.info());
    if (reason !== null) throw new Error(reason);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ServiceError('BROKER_UNREACHABLE', `Redis cannot be used for what nodes share: ${reason}`);
  } finally {
    client.destroy();
  }
}

/** By what it says of itself; null: it is fit. */
function unfit(info: string): string | null {
  const told = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  const version = told('redis_version').split('.').map(Number);
  const [major, minor] = LEAST_VERSION;
  if ((version[0] ?? 0) < major || (version[0] === major && (version[1] ?? 0) < minor)) {
    return `it is version ${told('redis_version') || 'unknown'}, and ${LEAST_VERSION.join('.')} is needed`;
  }
  if (told('role') === 'slave') return 'it is a replica, which cannot be written to';
  const policy = told('maxmemory_policy');
  // What it throws away would be messages.
  if (told('maxmemory') !== '0' && policy !== '' && policy !== 'noeviction') {
    return `it throws data away when its memory is full: set maxmemory-policy to noeviction, not ${policy}`;
  }
  return null;
}
