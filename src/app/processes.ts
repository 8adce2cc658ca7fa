import { hostname } from 'node:os';
import type { BrokerRuntimes } from '../domains/brokers/broker-runtimes.ts';
import { ProcessService } from '../domains/processes/process-service.ts';
import type { ProcessRole } from '../generated/sqlite/client.ts';
import { BUILD } from '../platform/build.ts';
import type { Engine } from '../protocol/hosting/broker-engine.ts';
import { type Placement, SharedPlacement, SolePlacement } from '../protocol/hosting/placement/placement.ts';
import { ProcessTable } from '../protocol/hosting/placement/process-table.ts';
import type { Foundation } from './foundation.ts';

const MESSAGES_PER_MINUTE = '$SYS/broker/load/messages/received/1min';

interface ProcessesOptions {
  readonly runtimes: BrokerRuntimes;
  readonly cloudBrokers: { readonly available: readonly Engine[] };
}

/** The processes on the database, and which of them runs what is stored for a broker. Nothing runs before `open`. */
export function openProcesses(
  { config, log, storage, folderId }: Foundation,
  { runtimes, cloudBrokers }: ProcessesOptions,
) {
  const { db, changes, leases, engine } = storage;
  const about = { host: hostname(), folderId, ...BUILD, role: config.role.toUpperCase() as ProcessRole };
  const engines = () => cloudBrokers.available;
  if (engine === 'sqlite') {
    const placement: Placement = new SolePlacement(leases);
    return { self: about, table: null, placement, service: new ProcessService({ table: null, about, engines }) };
  }
  const messagesPerSecond = (id: string) => {
    const perMinute = Number(runtimes.sysTopics(id)?.valueOf(MESSAGES_PER_MINUTE) ?? 0);
    return perMinute > 0 ? perMinute / 60 : 0;
  };
  const table: ProcessTable = new ProcessTable({
    db,
    changes,
    leases,
    log,
    ...about,
    engines,
    load: () => {
      const { held } = placement;
      return { brokers: held.length, messagesPerSecond: held.reduce((sum, id) => sum + messagesPerSecond(id), 0) };
    },
  });
  const placement = new SharedPlacement(leases, table);
  return { self: about, table, placement, service: new ProcessService({ table, about, engines }) };
}
