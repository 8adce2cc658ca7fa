import type { Closers } from '../../platform/closers.ts';
import type { Sealer } from '../../platform/storage/sealed.ts';
import type { Hosting, HostingParts } from '../../protocol/hosting/hosting.ts';
import type { BrokerCache } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import { BridgeService, type BridgeServiceOptions } from './bridge-service.ts';
import { bridgeHosting } from './hosting/bridge-hosting.ts';
import { BridgeThread } from './hosting/bridge-thread.ts';
import type { BridgeKind, BridgeRules } from './model/bridge-kind.ts';
import { mqttBridgeKind } from './mqtt/mqtt-bridge-kind.ts';
import { postgresqlBridgeKind } from './postgresql/postgresql-bridge-kind.ts';
import { webhookBridgeKind } from './webhook/webhook-bridge-kind.ts';

interface BridgesOptions extends HostingParts {
  readonly brokers: BrokerCache;
  readonly sealer: Sealer;
  readonly rules: BridgeRules;
  /** Contains the queues, in `<brokerId>/<bridgeId>`. */
  readonly folder: string;
  /** The compiled worker; `undefined`: the one in the folder of its module. */
  readonly workerUrl: URL | undefined;
  readonly closers: Closers;
}

/** Created in two steps: links to brokers need `hosting`, and the service needs links. */
interface Bridges {
  readonly hosting: Hosting;
  connect(runtimes: BrokerRuntimes, rules: Required<Pick<BridgeServiceOptions, 'refusalOf'>>): BridgeService;
}

/** The kinds of bridges that the gateway runs. */
const kinds: readonly BridgeKind[] = [mqttBridgeKind, postgresqlBridgeKind, webhookBridgeKind];

export async function openBridges(options: BridgesOptions): Promise<Bridges> {
  const { sealer, rules, folder, workerUrl, closers, ...parts } = options;
  const { brokers: directory, log } = parts;
  const thread = closers.keep(new BridgeThread({ workerUrl, log }));
  const hosting = closers.keep(bridgeHosting({ ...parts, sealer, kinds, thread, rules, folder }));
  await hosting.load();
  const onFault = (error: unknown) => log.error({ err: error }, 'bridges could not be watched');
  return {
    hosting,
    connect: (runtimes, { refusalOf }) =>
      closers.keep(new BridgeService({ runtimes, directory, kinds, refusalOf, onFault })),
  };
}
