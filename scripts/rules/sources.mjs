/** The source files of the repository, parsed once for all rules. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parseSync } from 'rolldown/utils';
import { root } from '../stamps.mjs';

const NOT_OURS = /(?:^|\/)(?:node_modules|dist|generated)\//;

/** Files of a folder with one of the endings, also in folders below it. */
const list = (folder, ...endings) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => endings.some((ending) => path.endsWith(ending)) && !NOT_OURS.test(path))
    .sort();

/** Documents for users and developers. The changelog is history. */
export const documents = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', ...list('docs', '.md')].map((path) => ({
  path,
  text: readFileSync(join(root, path), 'utf8'),
}));

/** `{ path, text, program, comments, imports, exports }` of each file; paths are relative to the repository. */
export const sources = ['src', 'console', 'test', 'bench', 'scripts']
  .flatMap((folder) => list(folder, '.ts', '.tsx', '.mjs'))
  .concat('vitest.config.ts')
  .map(parsed);

function parsed(path) {
  const text = readFileSync(join(root, path), 'utf8');
  const { program, comments, module, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0].message}`);
  const target = (request) => (request.startsWith('.') ? normalize(join(dirname(path), request)) : null);
  const imports = [];
  for (const { moduleRequest, entries } of module.staticImports) {
    const from = target(moduleRequest.value);
    const names = entries.map(({ importName }) => (importName.kind === 'Name' ? importName.name : '*'));
    if (from !== null) imports.push({ from, names });
  }
  for (const { entries } of module.staticExports)
    for (const { moduleRequest, importName } of entries)
      if (moduleRequest !== null)
        imports.push({
          from: target(moduleRequest.value),
          names: [importName.kind === 'Name' ? importName.name : '*'],
        });
  for (const { moduleRequest } of module.dynamicImports) {
    const [, request] = /^['"](.*)['"]$/.exec(text.slice(moduleRequest.start, moduleRequest.end)) ?? [];
    if (request?.startsWith('.')) imports.push({ from: target(request), names: ['*'] });
  }
  const exports = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ exportName, start }) => (exportName.kind === 'Name' ? [{ name: exportName.name, start }] : [])),
  );
  return { path, text, program, comments, imports, exports };
}

export const lineOf = (text, offset) => text.slice(0, offset).split('\n').length;

/** Calls `visit` for each node of a syntax tree. */
export function walk(node, visit) {
  visit(node);
  for (const child of Object.values(node)) {
    if (Array.isArray(child)) {
      for (const each of child) if (each !== null && typeof each?.type === 'string') walk(each, visit);
    } else if (child !== null && typeof child === 'object' && typeof child.type === 'string') walk(child, visit);
  }
}
