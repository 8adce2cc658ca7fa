import { Counter, Gauge, type Registry } from 'prom-client';
import type { AuditLog } from './audit-log.ts';

export type AuditBacklog = Pick<AuditLog, 'waiting' | 'failedWrites' | 'isFailing'>;

export function registerAuditMetrics(source: () => AuditBacklog, registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: 'brokergraph_audit_entries_waiting',
    help: 'Number of audit entries that wait to be written; at 10,000 changes are refused',
    registers,
    collect() {
      this.set(source().waiting);
    },
  });
  new Counter({
    name: 'brokergraph_audit_write_failures_total',
    help: 'Number of failed attempts to write audit entries; they are retried each second',
    registers,
    collect() {
      this.reset();
      this.inc(source().failedWrites);
    },
  });
}
