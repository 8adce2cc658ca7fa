import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessDialect, AccessPolicy } from '../../../protocol/apis/access-control/access-model.ts';
import { type AccessDiff, type DiffOptions, diffAccess } from './access-diff.ts';
import { parseDocument } from './access-document-parser.ts';
import { type CopiedAccounts, copyOf } from './account-copy.ts';
import { parseFile } from './json-file.ts';
import { parseMosquittoFile } from './mosquitto-file.ts';

/**
 * A document in the format of `documentOf` or its text, the text of a dynamic-security.json file of Mosquitto, or
 * accounts of another broker.
 */
export type ImportSource =
  | { readonly document: unknown }
  | { readonly mosquittoFile: string }
  | { readonly accounts: CopiedAccounts };

export function* planImport(
  policy: AccessPolicy,
  dialect: AccessDialect,
  source: ImportSource,
  options: DiffOptions,
): SlicedTask<AccessDiff> {
  if ('document' in source) {
    const value = typeof source.document === 'string' ? parseFile(source.document) : source.document;
    return yield* diffAccess(policy, dialect, yield* parseDocument(value), options);
  }
  const { document, warnings } =
    'accounts' in source ? yield* copyOf(source.accounts, policy) : yield* parseMosquittoFile(source.mosquittoFile);
  const plan = yield* diffAccess(policy, dialect, document, options);
  return { ...plan, notes: [...warnings, ...plan.notes] };
}
