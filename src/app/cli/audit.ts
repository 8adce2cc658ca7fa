import { open } from 'node:fs/promises';
import type { Command } from 'commander';
import type { AuditVerification } from '../../domains/audit/audit-verification.ts';
import { epochOfIso, isDateTime } from '../../platform/date-times.ts';
import { invalid, ServiceError } from '../../platform/errors.ts';
import { diskFaultOf } from '../../platform/storage/folder/disk-faults.ts';
import { runOnGraph, withGraph } from './graph.ts';
import { type Cli, type JsonOption, NegativeResult, print, type ToAction, textOfLines } from './terminal.ts';

export function addAuditCommands(program: Command, toAction: ToAction): void {
  const audit = program
    .command('audit')
    .description('Log of changes and refused requests. Works with and without a running service.');
  audit
    .command('export')
    .description('Write all entries as JSON lines, the oldest first, and the newest hash to standard error.')
    .option('--from <time>', 'only entries from this time, for example 2026-01-31T00:00:00Z')
    .option('--to <time>', 'only entries before this time')
    .option('--output <file>', 'write to a file')
    .option('--json', 'no effect: lines always are JSON')
    .action(toAction(exportAudit));
  audit
    .command('verify')
    .description('Verify all entries and list changed or missing ones. Exits with code 1 if there are any.')
    .option('--expect <hash>', 'a hash that `export` or `verify` printed earlier; it must still exist')
    .option('--json', 'print JSON')
    .action(toAction(verifyAudit));
}

const PAGE = `query ($filter: AuditFilter, $before: String) {
  auditEvents(last: 1000, before: $before, filter: $filter) {
    nodes {
      sequence id at actorKind actorId actorName actorIssuer address requestId via operation projectId brokerId
      targetKind targetId before after result code previousHash hash
    }
    pageInfo { startCursor }
  }
}`;

type Entry = Readonly<Record<string, unknown>>;

interface Page {
  readonly auditEvents: {
    readonly nodes: readonly Entry[];
    readonly pageInfo: { readonly startCursor: string | null };
  };
}

interface ExportOptions {
  readonly from?: string;
  readonly to?: string;
  readonly output?: string;
}

/** Writes the lines of `GET /audit.jsonl`, page by page, so that memory does not grow with the number of entries. */
async function exportAudit({ config, out, err }: Cli, { from, to, output }: ExportOptions): Promise<void> {
  const filter = { from: timeOf('--from', from), to: timeOf('--to', to) };
  const file = output === undefined ? null : await open(output, 'w', 0o600).catch(cannotWrite(output));
  try {
    await withGraph<Page>(config, PAGE, async (query) => {
      let last: Entry | undefined;
      for (let before: string | null = null; ; ) {
        const { auditEvents: page }: Page = await query({ filter, before });
        if (page.nodes.length === 0) break;
        const lines = page.nodes.map(lineOf).reverse().join('');
        if (file === null) out(lines);
        else await file.writeFile(lines).catch(incomplete(output ?? ''));
        [last] = page.nodes;
        before = page.pageInfo.startCursor;
      }
      if (last !== undefined) err(`The newest entry is ${last.sequence}, its hash ${last.hash}.\n`);
    });
  } finally {
    await file?.close();
  }
}

function timeOf(option: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const at = epochOfIso(text);
  if (isDateTime(at)) return new Date(at).toISOString();
  throw invalid([{ path: option, reason: 'is not a time such as 2026-01-31T00:00:00Z' }]);
}

/** `before` and `after` are written as the texts that were hashed. */
const lineOf = (node: Entry): string =>
  `${JSON.stringify({ ...node, before: textOfJson(node.before), after: textOfJson(node.after) })}\n`;

const textOfJson = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));

export const cannotWrite = (file: string) => (cause: unknown) => {
  const fault = diskFaultOf(cause);
  throw new ServiceError('INVALID', `The file ${file} cannot be written${fault ? `: ${fault}` : ''}`, { cause });
};

const incomplete = (file: string) => (cause: unknown) => {
  const reason = diskFaultOf(cause) ?? 'it cannot be written';
  throw new ServiceError('INTERNAL_ERROR', `The file ${file} is incomplete: ${reason}`, { cause });
};

const VERIFY = `query ($expect: String) {
  verifyAudit(expect: $expect) {
    isIntact checked start { sequence hash } head { sequence hash } problemCount problems { sequence reason }
  }
}`;

async function verifyAudit(cli: Cli, options: JsonOption & { readonly expect?: string }): Promise<void> {
  const { expect } = options;
  const { verifyAudit: found } = await runOnGraph<{ verifyAudit: AuditVerification }>(cli, VERIFY, { expect });
  print(cli, options, found, textOf(found));
  if (!found.isIntact) throw new NegativeResult();
}

function textOf({ isIntact, checked, start, head, problems, problemCount }: AuditVerification): string {
  const older = start.sequence > 0 ? ` Entries up to ${start.sequence} were deleted because of their age.` : '';
  return textOfLines([
    isIntact
      ? `All ${checked} entries are unchanged.${older}`
      : `CHANGED: ${problemCount} ${problemCount === 1 ? 'problem' : 'problems'} in ${checked} entries.${older}`,
    ...problems.map(({ sequence, reason }) => `  ${sequence}: ${reason}`),
    ...(problemCount > problems.length ? [`  and ${problemCount - problems.length} more`] : []),
    `The newest entry is ${head.sequence}, its hash ${head.hash}.`,
  ]);
}
