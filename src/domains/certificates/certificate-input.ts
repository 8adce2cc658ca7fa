import { type InputIssue, invalid, ServiceError, withPlaces } from '../../platform/errors.ts';
import { runInSlices } from '../../platform/scheduling/sliced-task.ts';
import { MAX_NAME, textIssues } from '../../platform/text/texts.ts';
import type { Nullish } from '../../platform/without-nulls.ts';
import {
  type CertificateMaterial,
  checkedMaterial,
  type MaterialInput,
} from '../../protocol/certificates/certificate-material.ts';

/** Missing fields stay unchanged. A `privateKey` of `null` deletes the key. */
export type CertificateChange = Nullish<Record<'name' | 'filename' | 'cert' | 'privateKey', string>>;

export type NewCertificate = CertificateChange & MaterialInput & { readonly filename: string };

/** Brokers create files with these names. */
const MAX_FILENAME = 255;

export function checkNames({ name, filename }: CertificateChange): void {
  const issues = [
    ...textIssues('input.name', name?.trim(), { min: 1, max: MAX_NAME }),
    ...(filename == null ? [] : filenameIssues(filename)),
  ];
  if (issues.length > 0) throw invalid(issues);
}

function filenameIssues(filename: string): InputIssue[] {
  const path = 'input.filename';
  const issues: InputIssue[] = [];
  if (filename === '' || Buffer.byteLength(filename) > MAX_FILENAME) {
    issues.push({ path, reason: `must have 1 to ${MAX_FILENAME} bytes` });
  }
  if (/[/\\]/.test(filename)) issues.push({ path, reason: 'must be a file name without a folder: no / and no \\' });
  if (filename === '.' || filename === '..') issues.push({ path, reason: 'must not be a folder' });
  if (/\p{Cc}/u.test(filename)) issues.push({ path, reason: 'must not contain control characters' });
  return issues;
}

export const checkedInput = (input: MaterialInput): Promise<CertificateMaterial> =>
  checkedAt(input, (path) => `input.${path}`);

/** Checks in slices. Maps the paths of issues to the input of the caller. Errors: INVALID. */
export async function checkedAt(input: MaterialInput, place: (path: string) => string): Promise<CertificateMaterial> {
  try {
    return await runInSlices(checkedMaterial(input));
  } catch (error) {
    throw error instanceof ServiceError ? withPlaces(error, place) : error;
  }
}
