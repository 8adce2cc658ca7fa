import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Sealer } from '../../../platform/storage/sealed.ts';
import { Hosting, type HostingParts } from '../../../protocol/hosting/hosting.ts';
import { localOf } from '../../../protocol/hosting/local-broker.ts';
import { BridgePlugin } from '../control/bridge-plugin.ts';
import type { BridgeKind, BridgeRules } from '../model/bridge-kind.ts';
import { BridgeDirectory } from './bridge-directory.ts';
import { bridgeHints } from './bridge-hints.ts';
import { type BridgeThread, connectionsOf } from './bridge-thread.ts';

export interface BridgeHostingOptions extends HostingParts {
  readonly sealer: Sealer;
  readonly kinds: readonly BridgeKind[];
  readonly thread: Pick<BridgeThread, 'openBridge'>;
  readonly rules: BridgeRules;
  /** Of queues, in `<brokerId>/<bridgeId>`. */
  readonly folder: string;
}

/** Bridges beside brokers that do not serve them. */
export function bridgeHosting(options: BridgeHostingOptions): Hosting {
  const { sealer, kinds, thread, rules, folder, ...parts } = options;
  const { storage, log } = parts;
  const { db, changes } = storage;
  const directory = new BridgeDirectory({ db, changes, sealer, log });

  const isConfigured = (brokerId: string, { id }: BridgeKind): boolean => {
    try {
      return connectionsOf(directory.of(brokerId, id).get()).length > 0;
    } catch (error) {
      log.error({ err: error, brokerId, bridge: id }, 'a bridge cannot be run');
      return false;
    }
  };

  return new Hosting({
    ...parts,
    name: 'bridges',
    kinds: kinds.map((kind) => ({
      api: kind.api,
      hints: bridgeHints,
      isWanted: (brokerId) => isConfigured(brokerId, kind),
      begin: async (link, emit) => {
        const { id: brokerId } = link;
        const onFault = (error: unknown) =>
          log.error({ err: error, brokerId, bridge: kind.id }, 'a bridge of a broker could not be run');
        const setup = {
          brokerId,
          bridgeId: kind.id,
          local: localOf(link),
          rules,
          folder: join(folder, brokerId, kind.id),
        };
        const configs = directory.of(brokerId, kind.id);
        if (!isConfigured(brokerId, kind)) await rm(setup.folder, { recursive: true, force: true }).catch(onFault);
        const bridge = thread.openBridge(setup);
        const plugin = new BridgePlugin({ kind, configs, bridge, rules, emit, onFault });
        return { plugin, end: () => bridge.close({ discard: false }) };
      },
    })),
    kept: directory,
    connections: (brokerId) => ({ clientIds: [], clientIdPrefixes: [`brokergraph-${brokerId}-bridge-`] }),
    folder,
  });
}
