import { createClient } from '@redis/client';
import { reasonOf, requireRedisUrl } from './link-maker.ts';
import { logKeys } from './log-keys.ts';

/** GETDEL, and XTRIM MINID. */
const LEAST_VERSION = [6, 2] as const;

/**
 * Resolves when a log can be kept there: Redis answers, is new enough, and does not throw away what nobody asked it to. Rejects with an
 * Error for people, which has neither the URL nor a password; with a TypeError for a URL that is none.
 */
export function checkRedis(url: string, timeoutMs: number): Promise<void> {
  return withRedis(url, timeoutMs, async (client) => {
    const about = String(await client.sendCommand(['INFO', 'server']));
    const version = /^redis_version:(\d+)\.(\d+)/m.exec(about);
    if (version && isOlder(Number(version[1]), Number(version[2]))) {
      throw new Error(`Redis ${LEAST_VERSION.join('.')} or newer is needed, and this is ${version[1]}.${version[2]}`);
    }
    const memory = String(await client.sendCommand(['INFO', 'memory']));
    const policy = /^maxmemory_policy:([\w-]+)/m.exec(memory)?.[1] ?? 'noeviction';
    if (policy.startsWith('allkeys')) {
      throw new Error(`Redis drops any key when it is full (maxmemory-policy ${policy}): set it to noeviction`);
    }
  });
}

/** Drops all that Redis has of a cluster; nodes that are still part of it would begin it anew. Rejects as checkRedis does. */
export function removeRedisLog(url: string, clusterId: string, timeoutMs = 5_000): Promise<void> {
  const { state, log } = logKeys(clusterId);
  // The other keys expire within a minute.
  return withRedis(url, timeoutMs, async (client) => {
    await client.sendCommand(['UNLINK', state, log]);
  });
}

async function withRedis(url: string, timeoutMs: number, use: (client: Client) => Promise<void>): Promise<void> {
  requireRedisUrl(url);
  const client = clientOf(url, timeoutMs);
  const late = setTimeout(() => client.isOpen && client.destroy(), timeoutMs);
  try {
    await client.connect();
    await use(client);
  } catch (error) {
    throw new Error(`Redis cannot be used: ${reasonOf(error)}`);
  } finally {
    clearTimeout(late);
    if (client.isOpen) client.destroy();
  }
}

type Client = ReturnType<typeof clientOf>;

function clientOf(url: string, timeoutMs: number) {
  const client = createClient({
    url,
    RESP: 2,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    socket: { connectTimeout: timeoutMs, reconnectStrategy: false },
  });
  // Told by what is rejected.
  client.on('error', () => undefined);
  return client;
}

function isOlder(major: number, minor: number): boolean {
  return major < LEAST_VERSION[0] || (major === LEAST_VERSION[0] && minor < LEAST_VERSION[1]);
}
