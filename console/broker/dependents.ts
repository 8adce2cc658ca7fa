import { graphql } from '../graph/graphql.ts';
import type { RefusedError } from '../graph/refused.ts';
import { useQuery } from '../graph/use-query.ts';

const DEPENDENTS = graphql(`query DependsOnBroker($id: ID!) {
  broker(id: $id) {
    currentMetrics { clients { connected } }
    streams(first: 1000) { totalCount nodes { provider } }
    bridges { provider isActive }
    project {
      tokens { brokerIds }
      certificates(brokerId: $id, first: 1) { totalCount }
    }
  }
}`);

interface Dependents {
  /** Clients connected to the broker; `null` if unknown. */
  readonly clients: number | null;
  /** Streams and active bridges that this service runs. Those of the broker itself remain there. */
  readonly streams: number;
  readonly bridges: number;
  readonly certificates: number;
  /** Tokens that are restricted to brokers, among them this one. */
  readonly tokens: number;
}

/** What depends on the connection to a broker. `null` until it is known. */
export function useDependents(id: string): { readonly found: Dependents | null; readonly error: RefusedError | null } {
  const { data, error } = useQuery(DEPENDENTS, { id });
  if (!data?.broker) return { found: null, error };
  const { currentMetrics: metrics, streams, bridges, project } = data.broker;
  const isOurs = ({ provider }: { readonly provider: string }) => provider === 'GATEWAY';
  const found = {
    clients: metrics?.clients.connected ?? null,
    streams: streams?.nodes.filter(isOurs).length ?? 0,
    bridges: bridges?.filter((bridge) => isOurs(bridge) && bridge.isActive).length ?? 0,
    certificates: project.certificates?.totalCount ?? 0,
    tokens: project.tokens.filter(({ brokerIds }) => brokerIds.includes(id)).length,
  };
  return { found, error: null };
}
