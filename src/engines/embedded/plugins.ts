import { brokerPlugin, licensePlugin } from './control/broker-plugin.ts';
import { certificatePlugin } from './control/certificate-plugin.ts';
import { clientControlPlugin } from './control/client-control-plugin.ts';
import { ClientReport } from './control/client-report.ts';
import type { ControlServer } from './control/control-server.ts';
import { InspectPlugin } from './control/inspect-plugin.ts';
import type { BrokerCore } from './core/broker-core.ts';
import type { ClientRegistry } from './core/client-registry.ts';
import type { AccessStore } from './dynamic-security/access-store.ts';
import { DynamicSecurityPlugin } from './dynamic-security/dynamic-security-plugin.ts';
import { passwordCopyPlugin } from './dynamic-security/password-copy-plugin.ts';
import { BROKER_LIMITS } from './limits.ts';
import type { Listener } from './listening/listener.ts';
import type { ListenerCertificates } from './listening/listener-certificates.ts';
import type { BrokerStore } from './store/broker-store.ts';
import type { WorkerOptions } from './worker-protocol.ts';

interface PluginParts {
  readonly options: WorkerOptions;
  readonly store: BrokerStore;
  readonly accessStore: AccessStore;
  readonly registry: ClientRegistry;
  readonly core: BrokerCore;
  readonly control: ControlServer;
  readonly certificates: ListenerCertificates;
  readonly listeners: readonly Listener[];
}

/** Registers the control APIs except those of topics and streams. */
export function registerPlugins(parts: PluginParts): void {
  const { options, store, accessStore, registry, core, control, certificates, listeners } = parts;
  const since = Date.now();
  const apis = () => control.plugins.map(({ api }) => api);
  control.register(
    new InspectPlugin({
      registry,
      report: new ClientReport({ registry, incoming: store.incoming, limits: BROKER_LIMITS }),
      since,
      emit: (event) => control.emit('cedalo/inspect', event),
    }),
  );
  control.register(clientControlPlugin(core.clients));
  control.register(licensePlugin(since, apis));
  control.register(
    new DynamicSecurityPlugin({
      store: accessStore,
      kick: core.kick,
      addresses: (username) =>
        Array.from(registry.claimedBy(username))
          .filter(({ identity }) => identity !== null)
          .map(({ address }) => address),
    }),
  );
  control.register(brokerPlugin(options.version, apis, () => listeners.map(({ info }) => info)));
  control.register(passwordCopyPlugin(accessStore, options.administrator.password, core.kick));
  control.register(certificatePlugin(certificates));
}
