import { Counter, type Registry } from 'prom-client';

/** Counts the log lines of each Mosquitto that this service does not understand. */
export class UnreadLogLines {
  readonly #counter = new Counter({
    name: 'brokergraph_log_lines_not_understood_total',
    help: 'Log lines of a Mosquitto that no pattern matches; lists of its clients may be incomplete',
    labelNames: ['broker'],
    registers: [],
  });

  add(brokerId: string): void {
    this.#counter.inc({ broker: brokerId });
  }

  /** Call when the connection to the broker is closed. */
  remove(brokerId: string): void {
    this.#counter.remove({ broker: brokerId });
  }

  register(registry: Registry): void {
    registry.registerMetric(this.#counter);
  }
}
