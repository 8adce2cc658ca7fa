import type { Registry } from 'prom-client';
import { readCounter, readGauge } from '../../platform/read-metrics.ts';
import type { AuditLog } from './audit-log.ts';

export type AuditBacklog = Pick<AuditLog, 'waiting' | 'failedWrites' | 'isFailing'>;

export function registerAuditMetrics(source: () => AuditBacklog, registry: Registry): void {
  readGauge(registry, {
    name: 'brokergraph_audit_entries_waiting',
    help: 'Number of audit entries that wait to be written; at 10,000 changes are refused',
    read: () => source().waiting,
  });
  readCounter(registry, {
    name: 'brokergraph_audit_write_failures_total',
    help: 'Number of failed attempts to write audit entries; they are retried each second',
    read: () => source().failedWrites,
  });
}
