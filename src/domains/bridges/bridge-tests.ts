import { testConnection } from '../../data-plane/bridges/hosting/connection-test.ts';
import { type BridgeKind, type BridgeRules, connectionsOf } from '../../data-plane/bridges/model/bridge-kind.ts';
import type { ConnectionTest, ConnectionTestOptions } from '../../data-plane/bridges/model/connection-test.ts';
import { invalid, ServiceError } from '../../platform/errors.ts';
import type { TestLimit } from '../../platform/limits/test-limit.ts';
import { isFields } from '../../protocol/control/fields.ts';
import { newReadingLimits } from '../../protocol/mqtt/reading-limits.ts';
import { ReadingTimeLimit } from '../../protocol/mqtt/reading-time-limit.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';
import type { LeadsToOwnBroker } from '../brokers/own-listeners.ts';
import type { BridgeService, BridgeWriter } from './bridge-service.ts';
import { BridgeConfigCheck } from './control/bridge-config-check.ts';
import { withTrust } from './control/trusted-addresses.ts';
import type { BridgeConfigCache } from './hosting/bridge-config-cache.ts';

interface BridgeTestsOptions extends Pick<ConnectionTestOptions, 'timeoutMs'> {
  readonly bridges: BridgeService;
  readonly kinds: readonly BridgeKind[];
  readonly configs: BridgeConfigCache;
  readonly rules: BridgeRules;
  readonly isOwnBroker: LeadsToOwnBroker;
  readonly limit: TestLimit;
}

interface BridgeTestInput {
  readonly bridgeKey: string;
  readonly config: unknown;
  readonly connectionName: string;
}

export type BridgeTest = Pick<ConnectionTest, 'state' | 'error' | 'responseStatus'>;

/** Tests connections of this service's bridges before they are saved, in this process. Nothing is stored. */
export class BridgeTests {
  readonly #options: BridgeTestsOptions;
  readonly #readingLimits = newReadingLimits(new ReadingTimeLimit());

  constructor(options: BridgeTestsOptions) {
    this.#options = options;
  }

  /** Errors: those of `BridgeService.update`; NOT_SUPPORTED_BY_BROKER for other bridges; RATE_LIMITED. */
  run(broker: BrokerRecord, input: BridgeTestInput, by: BridgeWriter, callerId: string): Promise<BridgeTest> {
    const { limit, timeoutMs } = this.#options;
    return limit.run(callerId, async () => {
      const { kind, connection, rules, stored } = await this.#checked(broker, input, by);
      const used = connectionsOf(stored).map((one) => (isFields(one) ? one.clientId : null));
      const { error, openError, ...found } = await testConnection(kind.id, connection, {
        brokerId: broker.id,
        group: broker.projectId,
        rules,
        timeoutMs,
        readingLimits: this.#readingLimits,
        usedClientIds: new Set(used.filter((id) => typeof id === 'string')),
      });
      return { ...found, error: by.mayControl ? error : openError };
    });
  }

  async #checked(
    broker: BrokerRecord,
    { bridgeKey, config: given, connectionName }: BridgeTestInput,
    by: BridgeWriter,
  ) {
    const { bridges, kinds, configs: cache, rules, isOwnBroker } = this.#options;
    const { provider } = await bridges.found(broker, bridgeKey);
    const kind = kinds.find(({ id }) => id === bridgeKey);
    if (kind === undefined || provider !== 'GATEWAY') {
      throw new ServiceError('NOT_SUPPORTED_BY_BROKER', NOT_OURS, { info: { reason: NOT_OURS } });
    }
    if (!isFields(given)) throw invalid([{ path: '/', reason: 'must be a JSON object' }]);
    const check = new BridgeConfigCheck({ kind, configs: cache.of(broker.id, kind.id), rules, isOwnBroker });
    const stored = check.readable();
    const { config, issues, omitted, trusted } = await check.given(given, stored, by.isRootAdmin);
    if (issues.length > 0) throw invalid(issues, undefined, omitted);
    const connections = connectionsOf(withTrust(kind, config, new Set(trusted))).filter(isFields);
    const connection = connections.find(({ name }) => name === connectionName);
    if (connection !== undefined) return { kind, connection, rules, stored };
    throw invalid([{ path: 'input.connectionName', reason: 'must be the name of a connection of the configuration' }]);
  }
}

const NOT_OURS = 'Only connections of bridges that this service runs can be tested';
