import type { Host, Network } from './network.ts';
import { type PostgresOptions, type PostgresServer, startPostgres } from './postgres-server.ts';

/** Two servers with the roles of a primary and its streaming replica. */
export interface PostgresPair {
  readonly primary: PostgresServer;
  readonly replica: PostgresServer;
  /** At a service address, which belongs to the primary. */
  readonly databaseUrl: string;
  /** Kills the primary, which loses the service address. */
  killPrimary(): Promise<void>;
  /** As a manager of the database does that has found the primary dead: the replica gets its role and the address. */
  moveToReplica(): Promise<void>;
  /** The replica announces the address again, which a host that was cut off has not learned. */
  announce(): void;
  /** After `killPrimary` and `moveToReplica`: the former primary is replaced by a new replica. Exchanges the roles. */
  addReplica(): Promise<void>;
}

const NAMES = ['primary', 'replica'] as const;

/** On two hosts. `isSynchronous`: a commit waits for the replica. Default: false. */
export async function startPair(
  network: Network,
  {
    isSynchronous = false,
    ...options
  }: Omit<PostgresOptions, 'synchronousStandbys'> & { isSynchronous?: boolean } = {},
): Promise<PostgresPair> {
  const [one, other] = NAMES.map((name) => network.host(name)) as [Host, Host];
  const synchronousStandbys = isSynchronous ? other.name : '';
  let primary = await startPostgres(one, { ...options, synchronousStandbys });
  let replica = await primary.startReplica(other);
  const address = network.serviceAddress();
  one.claim(address);
  return {
    get primary() {
      return primary;
    },
    get replica() {
      return replica;
    },
    databaseUrl: primary.url(address),
    killPrimary: async () => {
      await primary.kill();
      primary.host.giveUp(address);
    },
    moveToReplica: async () => {
      await replica.promote();
      replica.host.claim(address);
    },
    announce: () => replica.host.claim(address),
    addReplica: async () => {
      const { host } = primary;
      primary = replica;
      replica = await primary.startReplica(host);
      if (isSynchronous) await primary.setSynchronousStandbys(host.name);
    },
  };
}
