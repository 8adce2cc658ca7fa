import { readFile, writeFile } from 'node:fs/promises';
import type { Config } from '../../platform/config/config.ts';
import { invalid, ServiceError } from '../../platform/errors.ts';
import { explanationText, type ShownExplanation } from './access-explanation-text.ts';
import { importText, type ShownImport } from './access-import-text.ts';
import { runOnGraph } from './graph.ts';
import { NegativeResult, type Terminal } from './terminal.ts';

interface ExportOptions {
  readonly output?: string;
}

/** Writes the document with indentation, so that a version control system shows changes by line. */
export async function exportAccess(
  config: Config,
  { out, err }: Terminal,
  brokerId: string,
  { output }: ExportOptions,
): Promise<void> {
  const { exportAccessControl: document } = await runOnGraph<{
    exportAccessControl: Readonly<Record<'clients' | 'groups' | 'roles', readonly unknown[]>>;
  }>(config, 'query ($brokerId: ID!) { exportAccessControl(brokerId: $brokerId) }', { brokerId });
  const text = `${JSON.stringify(document, null, 2)}\n`;
  if (output === undefined) {
    out(text);
    return;
  }
  await writeFile(output, text).catch((cause: unknown) => {
    throw new ServiceError('INVALID', `The file ${output} cannot be written`, { cause });
  });
  const { clients, groups, roles } = document;
  err(`Wrote ${clients.length} clients, ${groups.length} groups and ${roles.length} roles to ${output}.\n`);
}

export interface ImportOptions {
  readonly mosquittoFile?: boolean;
  readonly deleteOthers?: boolean;
  readonly setPasswords?: boolean;
  readonly passwords?: string;
  readonly json?: boolean;
}

const IMPORT_FIELDS = `
  outcome notes needPassword
  changes { outcome commands { command fields state error { message } } error { message } }
  blastRadius { clientCount clients { clientId username } usernames anonymous gateway isComplete }`;
const PLAN = `query ($input: AccessControlImportInput!) { report: planAccessControl(input: $input) { ${IMPORT_FIELDS} } }`;
const APPLY = `mutation ($input: AccessControlImportInput!) { report: applyAccessControl(input: $input) { ${IMPORT_FIELDS} } }`;

/** Errors: INVALID if a file cannot be read; those of the graph; BROKER_REJECTED if not every change can be planned. */
export const planAccess = (
  config: Config,
  terminal: Terminal,
  brokerId: string,
  file: string,
  options: ImportOptions,
) => runImport(config, terminal, false, brokerId, file, options);

/** Prints the applied changes. Errors: those of `planAccess`; BROKER_REJECTED if not every change was applied. */
export const applyAccess = (
  config: Config,
  terminal: Terminal,
  brokerId: string,
  file: string,
  options: ImportOptions,
) => runImport(config, terminal, true, brokerId, file, options);

async function runImport(
  config: Config,
  terminal: Terminal,
  applies: boolean,
  brokerId: string,
  file: string,
  { mosquittoFile, deleteOthers = false, setPasswords = false, passwords, json }: ImportOptions,
): Promise<void> {
  if (file === STANDARD_INPUT && passwords === STANDARD_INPUT) {
    throw new ServiceError('INVALID', 'The document and the passwords cannot both come from standard input');
  }
  const text = await readText(terminal, file);
  const input = {
    brokerId,
    ...(mosquittoFile ? { mosquittoFile: text } : { document: parse(file, text) }),
    deleteOthers,
    setPasswords,
    passwords: passwords === undefined ? [] : await readPasswords(terminal, passwords),
  };
  const { report } = await runOnGraph<{ report: ShownImport }>(config, applies ? APPLY : PLAN, { input });
  terminal.out(json ? `${JSON.stringify(report)}\n` : importText(report, applies));
  const failed = report.changes.filter(({ outcome }) => !DONE.has(outcome)).length;
  if (failed > 0) {
    throw new ServiceError('BROKER_REJECTED', `${failed} of ${report.changes.length} changes are not confirmed`);
  }
}

const DONE: ReadonlySet<string> = new Set(['APPLIED', 'UNCHANGED', 'PLANNED']);

export interface ExplainOptions {
  readonly username?: string;
  readonly clientId?: string;
  readonly withRole?: readonly string[];
  readonly withoutRole?: readonly string[];
  readonly exitCode?: boolean;
  readonly json?: boolean;
}

const EXPLAIN = `query ($brokerId: ID!, $username: String, $anonymous: Boolean, $clientId: String, $action: AccessAction!,
    $topic: String!, $withRoles: [HeldRoleInput!], $withoutRoles: [String!]) {
  explainAccess(brokerId: $brokerId, username: $username, anonymous: $anonymous, clientId: $clientId, action: $action,
      topic: $topic, withRoles: $withRoles, withoutRoles: $withoutRoles) {
    allowed reason conditional elsewhere remarks lookedAtTotal
    lookedAt { rolename groupname priority verdict rule { aclType topic priority allow } }
  }
}`;

/**
 * Without a user name, an anonymous client is evaluated. Errors: those of the graph; NegativeResult with `exitCode`.
 */
export async function explainAccess(
  config: Config,
  { out }: Terminal,
  brokerId: string,
  action: string,
  topic: string,
  { username, clientId, withRole = [], withoutRole = [], exitCode = false, json }: ExplainOptions,
): Promise<void> {
  const { explainAccess: explanation } = await runOnGraph<{ explainAccess: ShownExplanation }>(config, EXPLAIN, {
    brokerId,
    ...(username === undefined ? { anonymous: true } : { username }),
    clientId,
    action: action.toUpperCase(),
    topic,
    withRoles: withRole.map((rolename) => ({ rolename })),
    withoutRoles: withoutRole,
  });
  out(json ? `${JSON.stringify(explanation)}\n` : explanationText(explanation));
  if (exitCode && !explanation.allowed) throw new NegativeResult();
}

/** File name that stands for standard input. */
const STANDARD_INPUT = '-';

/**
 * Reads a JSON object with passwords by user name. Passwords are no arguments, because all users of a machine can read
 * these.
 */
async function readPasswords(terminal: Terminal, file: string): Promise<{ username: string; password: string }[]> {
  const value = parse(file, await readText(terminal, file));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid([{ path: file, reason: 'must be a JSON object with passwords by user name' }]);
  }
  return Object.entries(value).map(([username, password]) => {
    if (typeof password === 'string') return { username, password };
    throw invalid([{ path: `${file}: ${username}`, reason: 'must be a string' }]);
  });
}

function readText({ readInput }: Terminal, file: string): Promise<string> {
  if (file === STANDARD_INPUT) return readInput();
  return readFile(file, 'utf8').catch((cause: unknown) => {
    throw new ServiceError('INVALID', `The file ${file} cannot be read`, { cause });
  });
}

function parse(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const what = file === STANDARD_INPUT ? 'Standard input' : `The file ${file}`;
    throw new ServiceError('INVALID', `${what} is not valid JSON`, { cause });
  }
}
