import { open } from 'node:fs/promises';
import type { Config } from '../../platform/config/config.ts';
import { invalid, ServiceError } from '../../platform/errors.ts';
import { runOnGraph, withGraph } from './graph.ts';
import { NegativeResult, type Terminal } from './terminal.ts';

interface ExportOptions {
  readonly from?: string;
  readonly to?: string;
  readonly output?: string;
}

/** The list has the newest entries first, so its last page is the start of the chain. */
const PAGE = `query ($filter: AuditFilter, $before: String) {
  auditEvents(last: 1000, before: $before, filter: $filter) {
    nodes {
      sequence id at actorKind actorId actorName actorIssuer address requestId via operation projectId brokerId
      targetKind targetId before after result code previousHash hash
    }
    pageInfo { startCursor }
  }
}`;

interface Page {
  readonly auditEvents: {
    readonly nodes: readonly Readonly<Record<string, unknown>>[];
    readonly pageInfo: { readonly startCursor: string | null };
  };
}

/** Writes the lines of `GET /audit.jsonl`, page by page, so that memory does not grow with the number of entries. */
export async function exportAudit(
  config: Config,
  { out, err }: Terminal,
  { from, to, output }: ExportOptions,
): Promise<void> {
  const filter = { from: timeOf('--from', from), to: timeOf('--to', to) };
  const file = output === undefined ? null : await open(output, 'w', 0o600).catch(cannotWrite(output));
  try {
    await withGraph<Page>(config, PAGE, async (query) => {
      let last: Readonly<Record<string, unknown>> | undefined;
      for (let before: string | null = null; ; ) {
        const { auditEvents: page }: Page = await query({ filter, before });
        if (page.nodes.length === 0) break;
        const lines = page.nodes.map(lineOf).reverse().join('');
        if (file === null) out(lines);
        else await file.writeFile(lines);
        [last] = page.nodes;
        before = page.pageInfo.startCursor;
      }
      if (last !== undefined) err(`The newest entry is ${last.sequence}, its hash ${last.hash}.\n`);
    });
  } finally {
    await file?.close();
  }
}

/** Errors: INVALID. */
function timeOf(option: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const at = new Date(text);
  if (Number.isNaN(at.getTime()))
    throw invalid([{ path: option, reason: 'is not a time such as 2026-01-31T00:00:00Z' }]);
  return at.toISOString();
}

/** `before` and `after` are written as the texts that were hashed. */
const lineOf = (node: Readonly<Record<string, unknown>>): string =>
  `${JSON.stringify({ ...node, before: textOfJson(node.before), after: textOfJson(node.after) })}\n`;

const textOfJson = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));

const cannotWrite = (file: string) => (cause: unknown) => {
  throw new ServiceError('INVALID', `The file ${file} cannot be written`, { cause });
};

interface Verified {
  readonly verifyAudit: {
    readonly isIntact: boolean;
    readonly checked: number;
    readonly start: { readonly sequence: number };
    readonly head: { readonly sequence: number; readonly hash: string };
    readonly problemCount: number;
    readonly problems: readonly { readonly sequence: number; readonly reason: string }[];
  };
}

const VERIFY = `query ($expect: String) {
  verifyAudit(expect: $expect) {
    isIntact checked start { sequence hash } head { sequence hash } problemCount problems { sequence reason }
  }
}`;

export async function verifyAudit(
  config: Config,
  { out }: Terminal,
  { expect, json }: { expect?: string; json?: boolean },
): Promise<void> {
  const { verifyAudit: found } = await runOnGraph<Verified>(config, VERIFY, { expect });
  out(json ? `${JSON.stringify(found)}\n` : textOf(found));
  if (!found.isIntact) throw new NegativeResult();
}

function textOf({ isIntact, checked, start, head, problems, problemCount }: Verified['verifyAudit']): string {
  const older = start.sequence > 0 ? ` Entries up to ${start.sequence} were deleted because of their age.` : '';
  const lines = [
    isIntact
      ? `All ${checked} entries are unchanged.${older}`
      : `CHANGED: ${problemCount} ${problemCount === 1 ? 'problem' : 'problems'} in ${checked} entries.${older}`,
    ...problems.map(({ sequence, reason }) => `  ${sequence}: ${reason}`),
    ...(problemCount > problems.length ? [`  and ${problemCount - problems.length} more`] : []),
    `The newest entry is ${head.sequence}, its hash ${head.hash}.`,
  ];
  return lines.map((line) => `${line}\n`).join('');
}
