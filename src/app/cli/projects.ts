import type { Config } from '../../platform/config/config.ts';
import { runOnGraph } from './graph.ts';
import { type Terminal, table } from './terminal.ts';

interface Project {
  readonly id: string;
  readonly name: string;
  readonly owner: { readonly name: string };
}

const LIST = `query ($after: String) {
  projects(first: 1000, after: $after) { nodes { id name owner { name } } pageInfo { hasNextPage endCursor } }
}`;

interface Page {
  readonly projects: {
    readonly nodes: readonly Project[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
}

export async function listProjects(config: Config, { out }: Terminal, { json }: { json?: boolean }): Promise<void> {
  const found: Project[] = [];
  for (let after: string | null = null, more = true; more; ) {
    const page: Page = await runOnGraph(config, LIST, { after });
    found.push(...page.projects.nodes);
    after = page.projects.pageInfo.endCursor;
    more = page.projects.pageInfo.hasNextPage;
  }
  if (json) out(`${JSON.stringify(found)}\n`);
  else out(table([['ID', 'NAME', 'OWNER'], ...found.map(({ id, name, owner }) => [id, name, owner.name])]));
}
