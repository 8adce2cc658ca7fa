import { Counter, Gauge, type Registry } from 'prom-client';

/** How writing the audit goes. */
export interface AuditBacklog {
  /** Entries that are not committed yet. */
  readonly waiting: number;
  /** Transactions that failed, since the service began. */
  readonly failedWrites: number;
}

export function registerAuditMetrics(source: () => AuditBacklog, registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: 'brokergraph_audit_entries_waiting',
    help: 'Entries of the audit that are not written yet; at 10,000 changes are refused',
    registers,
    collect() {
      this.set(source().waiting);
    },
  });
  new Counter({
    name: 'brokergraph_audit_write_failures_total',
    help: 'Attempts to write entries of the audit that failed; they are tried again each second',
    registers,
    collect() {
      this.reset();
      this.inc(source().failedWrites);
    },
  });
}
