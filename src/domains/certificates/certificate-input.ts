import { type InputIssue, invalid, ServiceError, withPlaces } from '../../platform/errors.ts';
import { MAX_NAME, textIssues } from '../../platform/text/texts.ts';
import { type CertificateMaterial, checkedMaterial, type MaterialInput } from './material/certificate-material.ts';

export interface NewCertificate extends MaterialInput {
  /** Without it: the filename. */
  readonly name?: string | null | undefined;
  readonly filename: string;
}

/** Only what is given changes. */
export interface CertificateChange {
  readonly name?: string | null | undefined;
  readonly filename?: string | null | undefined;
  readonly cert?: string | null | undefined;
  /** Null: there is none any more. */
  readonly privateKey?: string | null | undefined;
}

/** Brokers make files of these names: as long as file systems take them, in bytes. */
const MAX_FILENAME = 255;

/** Errors: INVALID with issues at `input.name`, `input.filename`. */
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
  if (/[/\\]/.test(filename))
    issues.push({ path, reason: 'must be the name of a file, without a folder: no / and no \\' });
  if (filename === '.' || filename === '..') issues.push({ path, reason: 'must not be a folder' });
  if (/\p{Cc}/u.test(filename)) issues.push({ path, reason: 'must not hold control characters' });
  return issues;
}

/** Errors: INVALID with issues at `input.cert`, `input.privateKey`. */
export function checkedInput(input: MaterialInput): CertificateMaterial {
  return placed(
    () => checkedMaterial(input),
    (path) => `input.${path}`,
  );
}

/** Does the work; the issues of its refusal are told where the caller finds them. */
export function placed<T>(work: () => T, place: (path: string) => string): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof ServiceError ? withPlaces(error, place) : error;
  }
}
