import type { BrokerRecord } from '../domains/brokers/broker-cache.ts';
import type { Services } from '../gateway/context.ts';
import type { Config } from '../platform/config/config.ts';
import { mqttReport, unusedPorts } from './first-broker.ts';

/** The facts of the start message. */
export interface StartReport {
  readonly url: string;
  readonly mqtt: {
    readonly url: string;
    readonly wsUrl: string | null;
    /** Addresses of the TLS listeners. */
    readonly tlsUrls: readonly string[];
    readonly username: string;
    readonly passwordFile: string;
  } | null;
  /** The configured port if it was in use, so that the broker has another one; otherwise `null`. */
  readonly mqttPortWanted: number | null;
  /** Port settings that an existing first broker does not follow, such as `MQTT_PORT=1884`. */
  readonly unusedPorts: readonly string[];
  /** `null` unless this start generated the password. */
  readonly rootPassword: { readonly email: string; readonly generated: string } | null;
  /**
   * The only user who may sign in with a password of this service (LOCAL_LOGIN=off). `canSignIn` is true if the user is
   * a root administrator with a password. `null` if all users may sign in with passwords.
   */
  readonly passwordsOnlyFor: { readonly email: string; readonly canSignIn: boolean } | null;
}

/** The facts about the first broker, which is `null` if this process does not run one. */
export function brokerReport(
  config: Config,
  first: BrokerRecord | null,
  { cloudBrokers }: Services,
): Pick<StartReport, 'mqtt' | 'mqttPortWanted' | 'unusedPorts'> {
  const listeners = first && cloudBrokers.listenersOf(first.id);
  const moved = first?.listeners.find(
    ({ number, protocol, tls, port }) =>
      protocol === 'MQTT' &&
      !tls &&
      port !== 0 &&
      listeners?.every((one) => one.number !== number || one.port !== port),
  );
  return {
    mqtt: first && listeners && mqttReport(config, first.id, listeners),
    mqttPortWanted: moved?.port ?? null,
    unusedPorts: first ? unusedPorts(config, first) : [],
  };
}
