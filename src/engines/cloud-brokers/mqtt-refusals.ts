import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { REFUSAL_REASONS, type RefusalReason } from '../../data-plane/broker/connecting/connect-refusal.ts';
import type { RefusalMessage } from '../../data-plane/broker/listening/refused-connects.ts';
import { NOBODY } from '../../domains/audit/audit-event.ts';
import type { AuditService } from '../../domains/audit/audit-service.ts';
import type { BrokerCache } from '../../domains/brokers/broker-cache.ts';
import { namedNodeId } from '../../gateway/named-node-id.ts';
import { readCounter } from '../../platform/read-metrics.ts';

interface MqttRefusalsOptions {
  readonly brokerCache: Pick<BrokerCache, 'get'>;
  readonly audit: Pick<AuditService, 'record'>;
  readonly log: Logger;
}

/** Counts refused CONNECTs of embedded brokers. A burst of failed log-ins has one audit entry. */
export class MqttRefusals {
  readonly #options: MqttRefusalsOptions;
  readonly #counts = new Map<string, Map<RefusalReason, number>>();

  constructor(options: MqttRefusalsOptions) {
    this.#options = options;
  }

  reported(brokerId: string, message: RefusalMessage): void {
    if (message.type === 'refused') {
      this.#count(brokerId, message.counts);
      return;
    }
    const { burst, count, seconds } = message;
    const { address, username } = burst;
    const about = { broker: brokerId, ...(address && { address }), ...(username && { account: username }), count };
    if (seconds !== null) {
      this.#options.log.warn({ ...about, seconds }, 'MQTT log-ins have stopped failing');
      return;
    }
    this.#options.log.warn(about, 'MQTT log-ins are failing; slowed down');
    void this.#options.audit.record({
      operation: 'connectClient',
      actor: NOBODY,
      via: 'MQTT',
      address: address ?? '',
      projectId: this.#options.brokerCache.get(brokerId)?.projectId ?? null,
      brokerId,
      target:
        username === null
          ? { kind: 'broker', id: brokerId }
          : { kind: 'account', id: namedNodeId({ kind: 'account', brokerId, name: username }) },
      after: { count },
      result: 'REFUSED',
      code: 'UNAUTHORIZED',
    });
  }

  register(registry: Registry): void {
    const { brokerCache } = this.#options;
    const all = this.#counts;
    readCounter(registry, {
      name: 'brokergraph_mqtt_refused_total',
      help: 'CONNECTs that embedded brokers refused, by reason',
      read: () => {
        for (const broker of all.keys()) if (brokerCache.get(broker) === null) all.delete(broker);
        return [...all].flatMap(([broker, counts]) =>
          [...counts].map(([reason, count]) => [{ broker, reason }, count] as const),
        );
      },
    });
  }

  #count(brokerId: string, counts: Readonly<Partial<Record<RefusalReason, number>>>): void {
    const known = this.#counts.get(brokerId) ?? new Map<RefusalReason, number>();
    this.#counts.set(brokerId, known);
    for (const reason of REFUSAL_REASONS) {
      const more = counts[reason];
      if (more !== undefined) known.set(reason, (known.get(reason) ?? 0) + more);
    }
  }
}
