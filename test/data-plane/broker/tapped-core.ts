import { onTestFinished } from 'vitest';
import { ClientRegistry } from '../../../src/data-plane/broker/clients/client-registry.ts';
import type { AccessControl } from '../../../src/data-plane/broker/connecting/access.ts';
import { BrokerCore } from '../../../src/data-plane/broker/core/broker-core.ts';
import type { Fault } from '../../../src/data-plane/broker/core/faults.ts';
import { BROKER_LIMITS, type BrokerLimits } from '../../../src/data-plane/broker/limits.ts';
import { startListener } from '../../../src/data-plane/broker/listening/listener.ts';
import { BrokerStore } from '../../../src/data-plane/broker/store/broker-store.ts';
import { EmbeddedStreamSession } from '../../../src/data-plane/broker/streams/embedded-stream-session.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { listener } from './embedded.ts';

/** Everybody may do everything, except publish below `forbidden/`. */
const ACCESS: AccessControl = {
  authenticate: async () => 'ACCEPTED',
  mayPublish: (_identity, topic) => !topic.startsWith('forbidden/'),
  hasAccount: () => true,
  maySubscribe: () => true,
  mayReceive: () => true,
  mayUnsubscribe: () => true,
};

/**
 * The core of an embedded broker in this thread, with a session of streams. `stop` ends it without DISCONNECT, like a
 * crash.
 */
export async function startTappedCore(
  folder = temporaryFolder(),
  fewer: Partial<BrokerLimits> = {},
  changedAccess: Partial<AccessControl> = {},
) {
  const problems: string[] = [];
  const onProblem = (problem: string, error: Error) => problems.push(`${problem}: ${error.message}`);
  const onBroken = (error: Error) => problems.push(error.message);
  const faults: Fault[] = [];
  const onFault = (fault: Fault) => void faults.push(fault);
  const limits = { ...BROKER_LIMITS, ...fewer };
  const store = new BrokerStore({ folder, limits, onBroken });
  const access = { ...ACCESS, ...changedAccess };
  const registry = new ClientRegistry(store.sessions);
  const serveControl = async () => {};
  const core = new BrokerCore({ store, registry, access, limits, serveControl, onProblem, onFault });
  const session = new EmbeddedStreamSession(core);
  const shared = {
    ...limits,
    accept: core.accept,
    onError: (error: Error) => {
      throw error;
    },
    onRefused: () => {},
  };
  const listening = await startListener(listener(), shared);
  let stopped: Promise<void> | null = null;
  const stop = () => {
    stopped ??= (async () => {
      listening.close();
      await core.close();
      session.close();
      store.close();
    })();
    return stopped;
  };
  onTestFinished(stop);
  return { core, session, store, registry, problems, faults, port: listening.info.port, folder, stop };
}
