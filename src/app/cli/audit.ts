import { open } from 'node:fs/promises';
import type { Config } from '../../platform/config/config.ts';
import { invalid, ServiceError } from '../../platform/errors.ts';
import { askingGraph, runOnGraph } from './graph.ts';
import { AnsweredNo, type Terminal } from './terminal.ts';

interface ExportOptions {
  readonly from?: string;
  readonly to?: string;
  readonly output?: string;
}

/** The list is the newest first, so its last page is where the chain begins. */
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

/** Page by page, so that any number of entries takes no more memory. The same lines as `GET /audit.jsonl`. */
export async function exportAudit(
  config: Config,
  { out, err }: Terminal,
  { from, to, output }: ExportOptions,
): Promise<void> {
  const filter = { from: momentOf('--from', from), to: momentOf('--to', to) };
  const file = output === undefined ? null : await open(output, 'w', 0o600).catch(cannotWrite(output));
  try {
    await askingGraph<Page>(config, PAGE, async (ask) => {
      let last: Readonly<Record<string, unknown>> | undefined;
      for (let before: string | null = null; ; ) {
        const { auditEvents: page }: Page = await ask({ filter, before });
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
function momentOf(option: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) throw invalid([{ path: option, reason: 'is no moment as 2026-01-31T00:00:00Z' }]);
  return at.toISOString();
}

/** With `before` and `after` as the texts that were hashed. */
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
  if (!found.isIntact) throw new AnsweredNo();
}

function textOf({ isIntact, checked, start, head, problems, problemCount }: Verified['verifyAudit']): string {
  const older = start.sequence > 0 ? ` Entries up to ${start.sequence} were removed because of their age.` : '';
  const lines = [
    isIntact
      ? `All ${checked} entries are as they were written.${older}`
      : `NOT as it was written: ${problemCount} ${problemCount === 1 ? 'problem' : 'problems'} in ${checked} entries.${older}`,
    ...problems.map(({ sequence, reason }) => `  ${sequence}: ${reason}`),
    ...(problemCount > problems.length ? [`  and ${problemCount - problems.length} more`] : []),
    `The newest entry is ${head.sequence}, its hash ${head.hash}.`,
  ];
  return lines.map((line) => `${line}\n`).join('');
}
