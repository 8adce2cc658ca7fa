import type { Command } from 'commander';
import { listOnGraph } from './graph.ts';
import { type Cli, type JsonOption, print, type ToAction, table } from './terminal.ts';

interface Project {
  readonly id: string;
  readonly name: string;
  readonly owner: { readonly name: string };
}

const LIST = `query ($after: String) {
  projects(first: 1000, after: $after) { nodes { id name owner { name } } pageInfo { hasNextPage endCursor } }
}`;

export function addProjectCommands(program: Command, toAction: ToAction): void {
  program
    .command('project')
    .description('Projects, which contain brokers, members and tokens.')
    .command('list')
    .description('List all projects.')
    .option('--json', 'print JSON')
    .action(toAction(listProjects));
}

async function listProjects(cli: Cli, options: JsonOption): Promise<void> {
  const found = await listOnGraph<Project>(cli, LIST);
  const rows = found.map(({ id, name, owner }) => [id, name, owner.name]);
  print(cli, options, found, table([['ID', 'NAME', 'OWNER'], ...rows]));
}
