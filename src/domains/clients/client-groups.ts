import type { BrokerRecord } from '../brokers/broker-cache.ts';

/** The accounts of a group of a broker's access control, as they were last read. */
export interface ClientGroup {
  readonly name: string;
  /** Whether clients of this user name are members now. */
  has(username: string): boolean;
  /** Calls `onChange` after each change of the members, within seconds, until the returned function is called. */
  follow(onChange: () => void): () => void;
}

/** Reads groups for filters of clients. Access control is a domain of its own, which uses this one. */
export interface ClientGroups {
  /** Errors: NOT_FOUND; NOT_SUPPORTED_BY_BROKER without dynamic security; those of an unreachable broker. */
  find(broker: BrokerRecord, groupName: string): Promise<ClientGroup>;
}
