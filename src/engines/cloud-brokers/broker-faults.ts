import { Counter, type Registry } from 'prom-client';
import type { Fault } from '../embedded/core/faults.ts';

const KINDS: readonly Fault['kind'][] = ['connection', 'message', 'record'];

/** Number of exceptions in embedded brokers since the start of the service, by what an exception ended at most. */
export class BrokerFaults {
  readonly #counts = new Map<Fault['kind'], number>(KINDS.map((kind) => [kind, 0]));

  readonly add = (kind: Fault['kind']): void => {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
  };

  register(registry: Registry): void {
    const counts = this.#counts;
    new Counter({
      name: 'brokergraph_mqtt_faults_total',
      help: 'Exceptions in embedded brokers that ended a connection, or lost a message or a stored record; the log has their stacks',
      labelNames: ['kind'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [kind, count] of counts) this.inc({ kind }, count);
      },
    });
  }
}
