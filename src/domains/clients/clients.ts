import type { Closers } from '../../platform/closers.ts';
import type { BrokerCache } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { ClientGroups } from './client-groups.ts';
import { ClientService } from './client-service.ts';
import { ClientControlService } from './control/client-control-service.ts';
import { OwnConnections } from './own-connections.ts';

interface ClientsOptions {
  readonly runtimes: BrokerRuntimes;
  readonly brokers: BrokerCache;
  readonly groups: ClientGroups;
  readonly closers: Closers;
}

interface Clients {
  readonly clients: ClientService;
  readonly clientControl: ClientControlService;
  readonly own: OwnConnections;
}

export function openClients({ runtimes, brokers, groups, closers }: ClientsOptions): Clients {
  const own = new OwnConnections(runtimes);
  const clients = closers.keep(new ClientService({ runtimes, brokers, own, groups }));
  return { clients, clientControl: new ClientControlService({ runtimes, clients, own }), own };
}
