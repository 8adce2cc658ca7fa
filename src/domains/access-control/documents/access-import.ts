import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessDialect, AccessPolicy } from '../policy/access-model.ts';
import type { AccessChange } from '../writing/access-change.ts';
import { changesTowards, type DiffOptions } from './access-diff.ts';
import { parseDocument } from './access-document-parser.ts';
import { parseMosquittoFile } from './mosquitto-file.ts';

/** What is to be applied: a document as `documentOf` writes it, or the text of a Mosquitto's dynamic-security.json. */
export type ImportSource = { readonly document: unknown } | { readonly mosquittoFile: string };

export interface ImportPlan {
  /** In the order in which they must be written; empty: the broker has it all already. */
  readonly changes: readonly AccessChange[];
  /** What will not be as the source says, and why; for people. */
  readonly notes: readonly string[];
  /** Accounts that will be made without password: nobody can connect as them before one is set. Sorted. */
  readonly needPassword: readonly string[];
}

/** How a broker comes to hold what the source says. Pure. Errors: INVALID with every issue of the source. */
export function* planImport(
  policy: AccessPolicy,
  dialect: AccessDialect,
  source: ImportSource,
  options: DiffOptions,
): SlicedTask<ImportPlan> {
  if ('document' in source) {
    return yield* changesTowards(policy, dialect, yield* parseDocument(source.document), options);
  }
  const { document, warnings } = yield* parseMosquittoFile(source.mosquittoFile);
  const plan = yield* changesTowards(policy, dialect, document, options);
  return { ...plan, notes: [...warnings, ...plan.notes] };
}
