import { createHash } from 'node:crypto';

/** The client id of a bridge's connection to its broker; the same in each process that runs the bridge. */
export function bridgeClientId(brokerId: string, bridgeId: string, connectionName: string): string {
  const hash = createHash('sha256').update(`${bridgeId}\n${connectionName}`).digest('hex').slice(0, 12);
  return `brokergraph-${brokerId}-bridge-${hash}`;
}
