import type { GraphqlAnswer, TestService } from '../../support/service.ts';

/** An entry as the graph returns it. */
interface AuditEvent {
  readonly id: string;
  readonly sequence: number;
  readonly actorKind: string;
  readonly actorId: string | null;
  readonly actorName: string | null;
  readonly actorIssuer: string | null;
  readonly address: string;
  readonly requestId: string;
  readonly via: string;
  readonly operation: string;
  readonly projectId: string | null;
  readonly brokerId: string | null;
  readonly targetKind: string | null;
  readonly targetId: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: read as it was asked for.
  readonly before: any;
  // biome-ignore lint/suspicious/noExplicitAny: read as it was asked for.
  readonly after: any;
  readonly result: string;
  readonly code: string | null;
}

export const FIELDS = `id sequence at actorKind actorId actorName actorIssuer address requestId via operation projectId brokerId
  targetKind targetId before after result code previousHash hash`;

const EVENTS = `query ($filter: AuditFilter) {
  auditEvents(filter: $filter, first: 1000) { totalCount nodes { ${FIELDS} } }
}`;

/** The newest first. */
export async function eventsOf(service: TestService, filter: Record<string, unknown> = {}): Promise<AuditEvent[]> {
  const { data } = await service.graphql(EVENTS, { filter });
  if (data.auditEvents.totalCount !== data.auditEvents.nodes.length) throw new Error('There are more than a page');
  return data.auditEvents.nodes;
}

/** The entries that are new since, the oldest first. */
export async function leftBy(service: TestService, work: () => Promise<unknown>): Promise<AuditEvent[]> {
  const { sequence } = await service.services.audit.head();
  await work();
  // What was refused to readers is written soon after the answer.
  await service.services.audit.head();
  return (await eventsOf(service)).filter((event) => event.sequence > sequence).reverse();
}

export const codeOf = ({ errors }: GraphqlAnswer): string | null => errors?.[0]?.extensions.code ?? null;
