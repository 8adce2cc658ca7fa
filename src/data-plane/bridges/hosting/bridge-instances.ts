import { messageOf } from '../../../platform/errors.ts';
import { type InstanceKind, reasonOf } from '../../../protocol/hosting/serve-instances.ts';
import { newReadingLimits } from '../../../protocol/mqtt/reading-limits.ts';
import { LogDatabase } from '../../log/postgresql/postgresql-logs.ts';
import type { Bridge } from '../model/bridge.ts';
import { QueueStorage } from '../queue/queue-storage.ts';
import type { BridgeOptions } from './bridge-options.ts';
import type { BridgeCalls, BridgeEvent, BridgeSetup } from './bridge-thread.ts';

/** A stop of the service has 20 s in all. A batch in progress is given up after less. */
const CLOSE_TIMEOUT_MS = 5_000;
/** A session is given up after the timeout of its broker. The next bridge has the same client id. */
const DISCARD_TIMEOUT_MS = 15_000;

/** The bridges of one worker thread. `start` creates a bridge of the kind that the options name. */
export function bridgeInstances(
  start: (options: BridgeOptions) => Promise<Bridge>,
): InstanceKind<BridgeSetup, BridgeCalls, BridgeEvent> {
  const readingLimits = newReadingLimits();
  let storage: QueueStorage | null = null;
  let database: LogDatabase | null = null;
  return {
    keyOf: ({ brokerId, bridgeId }) => `${brokerId}/${bridgeId}`,
    closeTimeoutMs: CLOSE_TIMEOUT_MS,
    discardTimeoutMs: DISCARD_TIMEOUT_MS,
    create: async ({ databaseUrl, ...setup }, { emit, fail, problem }) => {
      const { brokerId, bridgeId, local, rules } = setup;
      // All bridges of the process have the same limit and database.
      storage ??= new QueueStorage(rules.storageMaxBytes ?? Number.POSITIVE_INFINITY);
      if (databaseUrl !== undefined) {
        // Each queue reports that its messages wait.
        database ??= new LogDatabase({ databaseUrl, onProblem: () => undefined, onLost: () => undefined });
      }
      const bridge = await start({
        ...setup,
        local: { ...local, readingLimits },
        storage: storage.of(brokerId),
        ...(database === null ? {} : { database }),
        onFault: (error) => problem('error', { brokerId, bridgeId, reason: reasonOf(error) }, 'a bridge failed'),
        onLoop: (loop) => problem('warn', { brokerId, bridgeId, ...loop }, 'messages of a bridge come back'),
      });
      const stop = bridge.onStatus(() => emit(bridge.status()));
      return {
        api: {
          apply: async (config) => {
            try {
              await bridge.apply(config);
            } catch (error) {
              fail(messageOf(error));
              throw error;
            }
            emit(bridge.status());
          },
        },
        close: async (discard) => {
          stop();
          await bridge.close({ discard });
        },
      };
    },
  };
}
