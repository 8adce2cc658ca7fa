/** Names in Redis. All of one cluster are in one slot, and begin alike. */
export interface LogKeys {
  readonly state: string;
  readonly log: string;
  /** Per process of Redis that the nodes vote on. */
  votes(server: string): string;
  /** There while a node waits for a snapshot; who takes it away gives one. */
  readonly wanted: string;
  snapshot(request: string): string;
  /** Channel of what is told. */
  readonly told: string;
}

export function logKeys(clusterId: string): LogKeys {
  const prefix = `brokergraph:{${clusterId}}:`;
  return {
    state: `${prefix}state`,
    log: `${prefix}log`,
    votes: (server) => `${prefix}votes:${server}`,
    wanted: `${prefix}wanted:`,
    snapshot: (request) => `${prefix}snapshot:${request}`,
    told: `${prefix}told`,
  };
}
