import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessDialect, AccessPolicy } from '../../../protocol/apis/access-control/access-model.ts';
import { type AccessDiff, type DiffOptions, diffAccess } from './access-diff.ts';
import { parseDocument } from './access-document-parser.ts';
import { parseMosquittoFile } from './mosquitto-file.ts';

/** A document in the format of `documentOf`, or the text of a dynamic-security.json file of Mosquitto. */
export type ImportSource = { readonly document: unknown } | { readonly mosquittoFile: string };

export function* planImport(
  policy: AccessPolicy,
  dialect: AccessDialect,
  source: ImportSource,
  options: DiffOptions,
): SlicedTask<AccessDiff> {
  if ('document' in source) {
    return yield* diffAccess(policy, dialect, yield* parseDocument(source.document), options);
  }
  const { document, warnings } = yield* parseMosquittoFile(source.mosquittoFile);
  const plan = yield* diffAccess(policy, dialect, document, options);
  return { ...plan, notes: [...warnings, ...plan.notes] };
}
