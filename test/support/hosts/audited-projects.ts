import { expect } from 'vitest';
import type { ServiceOnHost } from './service-on-host.ts';

const VERIFY = '{ verifyAudit { isIntact problems { sequence reason } } }';
const ENTRIES = `query ($before: String) {
  auditEvents(last: 1000, before: $before, filter: { operation: "createProject" }) {
    nodes { after } pageInfo { startCursor }
  }
}`;
const PROJECTS = `query ($after: String) {
  projects(first: 1000, after: $after) { nodes { name } pageInfo { hasNextPage endCursor } }
}`;

/**
 * Each project of `created` exists and has an entry in the audit, no project was created twice, and the chain of the
 * audit is intact.
 */
export async function checkProjects(service: ServiceOnHost, created: readonly string[]): Promise<void> {
  const { verifyAudit } = await service.graphql(VERIFY);
  expect(verifyAudit).toEqual({ isIntact: true, problems: [] });
  const [names, audited] = [await projectNames(service), new Set(await auditedNames(service))];
  const known = new Set(names);
  expect(created.filter((name) => !known.has(name))).toEqual([]);
  expect(created.filter((name) => !audited.has(name))).toEqual([]);
  expect(names.length).toBe(known.size);
}

async function projectNames({ graphql }: ServiceOnHost): Promise<string[]> {
  const names: string[] = [];
  for (let after: string | null = null; ; ) {
    const { projects }: { projects: Page<{ readonly name: string }> } = await graphql(PROJECTS, { after });
    names.push(...projects.nodes.map(({ name }) => name));
    if (projects.pageInfo.hasNextPage !== true) return names;
    after = projects.pageInfo.endCursor ?? null;
  }
}

async function auditedNames({ graphql }: ServiceOnHost): Promise<string[]> {
  const names: string[] = [];
  for (let before: string | null = null; ; ) {
    const { auditEvents }: { auditEvents: Page<{ readonly after: { readonly name: string } }> } = await graphql(
      ENTRIES,
      {
        before,
      },
    );
    if (auditEvents.nodes.length === 0) return names;
    names.push(...auditEvents.nodes.map(({ after }) => after.name));
    before = auditEvents.pageInfo.startCursor ?? null;
  }
}

interface Page<Node> {
  readonly nodes: readonly Node[];
  readonly pageInfo: {
    readonly hasNextPage?: boolean;
    readonly endCursor?: string;
    readonly startCursor?: string | null;
  };
}
