import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BridgeThread } from '../../../data-plane/bridges/hosting/bridge-thread.ts';
import { type BridgeKind, type BridgeRules, connectionsOf } from '../../../data-plane/bridges/model/bridge-kind.ts';
import { groupOf } from '../../../data-plane/bridges/queue/queue-store.ts';
import type { EventForwarding } from '../../../protocol/hosting/hosted-events.ts';
import { hostedLinkOptions } from '../../../protocol/hosting/hosted-link-options.ts';
import { Hosting, type HostingParts } from '../../../protocol/hosting/hosting.ts';
import type { LeadsToOwnBroker } from '../../brokers/own-listeners.ts';
import { BRIDGE_STATUS } from '../control/bridge-control.ts';
import { BridgePlugin } from '../control/bridge-plugin.ts';
import type { BridgeConfigCache } from './bridge-config-cache.ts';
import { logOutages } from './bridge-outages.ts';

interface BridgeHostingOptions extends HostingParts {
  readonly configs: BridgeConfigCache;
  readonly kinds: readonly BridgeKind[];
  readonly thread: Pick<BridgeThread, 'openBridge'>;
  readonly rules: BridgeRules;
  readonly isOwnBroker: LeadsToOwnBroker;
  readonly folder: string;
  readonly databaseUrl?: string | undefined;
}

const bridgeEvents: EventForwarding = {
  keyOf: ({ event }) => (event === BRIDGE_STATUS ? 'status' : null),
  command: () => ({ command: 'getStatus' }),
  eventsOf: (status) => [{ type: 'event', event: BRIDGE_STATUS, status }],
};

export function bridgeHosting(options: BridgeHostingOptions): Hosting {
  const { configs, kinds, thread, rules, isOwnBroker, folder, databaseUrl, ...parts } = options;
  const { storage, log } = parts;

  const hasConnections = (brokerId: string, bridgeId: string): boolean => {
    try {
      return connectionsOf(configs.of(brokerId, bridgeId).get()).length > 0;
    } catch (error) {
      log.error({ err: error, brokerId, bridge: bridgeId }, 'the configuration of a bridge cannot be read');
      return false;
    }
  };

  /**
   * Deletes the queues of a bridge whose connections were removed while another process ran it. Returns false if its
   * configuration is unknown: all queues then remain, because their messages are acknowledged.
   */
  const removeLeftovers = async (brokerId: string, bridgeId: string): Promise<boolean> => {
    try {
      await configs.refresh(brokerId, bridgeId);
      if (connectionsOf(configs.of(brokerId, bridgeId).get()).length > 0) return true;
      await rm(join(folder, brokerId, bridgeId), { recursive: true, force: true });
      if (databaseUrl !== undefined) {
        await storage.db.$executeRaw`
          DELETE FROM messages.bridge_queue WHERE broker = ${brokerId} AND bridge = ${bridgeId}`;
        await storage.db.$executeRaw`DELETE FROM messages.log_owner WHERE key = ${groupOf(brokerId, bridgeId)}`;
      }
      return true;
    } catch (error) {
      log.error({ err: error, brokerId, bridge: bridgeId }, 'unneeded queues of a bridge could not be deleted');
      return false;
    }
  };

  return new Hosting({
    ...parts,
    name: 'bridges',
    apis: kinds.map((kind) => ({
      api: kind.api,
      forwarding: bridgeEvents,
      isWanted: (brokerId) => hasConnections(brokerId, kind.id),
      start: async (link, emit) => {
        const { id: brokerId } = link;
        const { id: bridgeId } = kind;
        const onFault = (error: unknown) =>
          log.error({ err: error, brokerId, bridge: bridgeId }, 'a bridge of a broker could not run');
        const setup = {
          brokerId,
          bridgeId,
          local: hostedLinkOptions(link),
          rules,
          folder: join(folder, brokerId, bridgeId),
          databaseUrl,
          keepsOtherQueues: !(await removeLeftovers(brokerId, bridgeId)),
        };
        const bridge = thread.openBridge(setup);
        const about = () => ({ brokerId, name: parts.brokers.get(brokerId)?.name, bridge: bridgeId });
        const forget = logOutages(bridge, about, log);
        const own = configs.of(brokerId, bridgeId);
        const plugin = new BridgePlugin({ kind, configs: own, bridge, rules, isOwnBroker, emit, onFault });
        const close = () => {
          forget();
          return bridge.close({ discard: false });
        };
        return { plugin, close };
      },
    })),
    config: configs,
    connections: (brokerId) => ({ clientIds: [], clientIdPrefixes: [`brokergraph-${brokerId}-bridge-`] }),
    folder,
  });
}
