import type { TestService } from '../../support/service.ts';

interface SeenEvent {
  readonly kind: string;
  readonly at: string;
  readonly clientId: string | null;
  readonly username: string | null;
  readonly address: string | null;
  readonly listenerPort: number | null;
  readonly protocol: string | null;
  readonly reason: string | null;
  readonly count: number;
  readonly refusal: {
    readonly kind: string;
    readonly reason: string;
    readonly count: number;
    readonly topic: string | null;
    readonly decidedBy: { readonly roleName: string } | null;
  } | null;
  readonly operation: { readonly operation: string; readonly actorName: string | null } | null;
}

const EVENTS = `query ($id: ID!, $filter: ClientEventFilter, $after: String) { broker(id: $id) {
  clientEvents(filter: $filter, first: 500, after: $after) {
    nodes { kind at clientId username address listenerPort protocol reason count
      refusal { kind reason count topic decidedBy { roleName } } operation { operation actorName } }
    pageInfo { hasNextPage endCursor } } } }`;

/** All events of a broker that match, the newest first. */
export async function eventsOf(
  { graphql }: TestService,
  id: string,
  filter: Record<string, unknown> = {},
  token?: string,
): Promise<SeenEvent[]> {
  const events: SeenEvent[] = [];
  for (let after: string | null = null; ; ) {
    const { data, errors }: Awaited<ReturnType<TestService['graphql']>> = await graphql(
      EVENTS,
      { id, filter, after },
      token,
    );
    if (errors) throw new Error(JSON.stringify(errors));
    const { nodes, pageInfo } = data.broker.clientEvents;
    events.push(...nodes);
    if (!pageInfo.hasNextPage) return events;
    after = pageInfo.endCursor;
  }
}

const STATE = `query ($id: ID!) { broker(id: $id) { clientEvents(first: 1) {
  since isComplete incompleteReason gaps { from to reason detail } } } }`;

export async function coverageOf({ graphql }: TestService, id: string) {
  return (await graphql(STATE, { id })).data.broker.clientEvents;
}
