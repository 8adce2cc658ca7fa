import type { ClientEvent, EventEdge, EventGap } from './event-graph.ts';

/** An event, or a time of which nothing is known. */
export interface EventRow {
  readonly key: string;
  readonly event: ClientEvent | null;
  readonly gap: EventGap | null;
}

/** The newest first. A gap is where its end is. */
export function rowsOf(edges: readonly EventEdge[], gaps: readonly EventGap[]): readonly EventRow[] {
  const rows: { readonly at: number; readonly row: EventRow }[] = [
    ...edges.map(({ cursor, node }) => ({ at: Date.parse(node.at), row: { key: cursor, event: node, gap: null } })),
    ...gaps.map((gap) => ({
      at: Date.parse(gap.to),
      row: { key: `${gap.from} ${gap.reason} ${gap.broker?.name}`, event: null, gap },
    })),
  ];
  return rows.sort((a, b) => b.at - a.at).map(({ row }) => row);
}
