import { BridgeThread } from '../../data-plane/bridges/hosting/bridge-thread.ts';
import type { BridgeKind, BridgeRules } from '../../data-plane/bridges/model/bridge-kind.ts';
import { mqttBridgeKind } from '../../data-plane/bridges/mqtt/mqtt-bridge-kind.ts';
import { postgresqlBridgeKind } from '../../data-plane/bridges/postgresql/postgresql-bridge-kind.ts';
import { webhookBridgeKind } from '../../data-plane/bridges/webhook/webhook-bridge-kind.ts';
import type { TestLimit } from '../../platform/limits/test-limit.ts';
import type { Sealer } from '../../platform/storage/encryption/sealed.ts';
import type { ControlApi } from '../../protocol/control/envelope.ts';
import { HostedPart } from '../../protocol/hosting/hosted-part.ts';
import type { Hosting, HostingParts } from '../../protocol/hosting/hosting.ts';
import type { BrokerCache } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { LeadsToOwnBroker } from '../brokers/own-listeners.ts';
import { BridgeService, type BridgeServiceOptions } from './bridge-service.ts';
import { BridgeTests } from './bridge-tests.ts';
import { BridgeConfigCache } from './hosting/bridge-config-cache.ts';
import { bridgeHosting } from './hosting/bridge-hosting.ts';

interface BridgesOptions extends HostingParts, Pick<BridgeServiceOptions, 'requireSupport'> {
  readonly brokers: BrokerCache;
  readonly runtimes: BrokerRuntimes;
  readonly sealer: Sealer;
  readonly rules: BridgeRules;
  readonly isOwnBroker: LeadsToOwnBroker;
  readonly folder: string;
  readonly databaseUrl: string | undefined;
  readonly workerUrl: URL | undefined;
  /** Shared with the tests of connections to brokers. */
  readonly testLimit: TestLimit;
  /** Bounds the test of a connection. */
  readonly timeoutMs: number;
}

const kinds: readonly BridgeKind[] = [mqttBridgeKind, postgresqlBridgeKind, webhookBridgeKind];

export class Bridges extends HostedPart<BridgeService> {
  readonly service: BridgeService;
  readonly tests: BridgeTests;
  protected readonly thread: BridgeThread;
  protected readonly hosting: Hosting;

  constructor({ sealer, workerUrl, requireSupport, testLimit: limit, timeoutMs, ...parts }: BridgesOptions) {
    super();
    const { brokers: brokerCache, runtimes, log, storage, rules, isOwnBroker } = parts;
    const configs = new BridgeConfigCache({ db: storage.db, changes: storage.changes, sealer, log });
    this.thread = new BridgeThread({ workerUrl, log });
    this.hosting = bridgeHosting({ ...parts, configs, kinds, thread: this.thread });
    const onFault = (error: unknown) => log.error({ err: error }, 'bridges could not be watched');
    this.service = new BridgeService({ runtimes, brokerCache, kinds, requireSupport, onFault });
    this.tests = new BridgeTests({ bridges: this.service, kinds, configs, rules, isOwnBroker, limit, timeoutMs });
  }

  get apis(): readonly ControlApi[] {
    return kinds.map(({ api }) => api);
  }
}
