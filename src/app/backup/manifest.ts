import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Build } from '../../platform/build.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Engine } from '../../platform/storage/database.ts';
import { isMissing } from './snapshot.ts';

/** The file that completes a backup. It is written last. */
const MANIFEST = 'backup.json';
const FORMAT = 1;

interface BackedUpFile {
  /** Relative to the backup. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface Manifest {
  readonly format: typeof FORMAT;
  /** Of this program. */
  readonly version: string;
  readonly createdAt: string;
  readonly engine: Engine;
  readonly files: readonly BackedUpFile[];
}

export function writeManifest(backup: string, content: Omit<Manifest, 'format'> & Build): void {
  const manifest = { format: FORMAT, ...content };
  writeFileSync(join(backup, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flush: true });
}

/** Checks all files of a backup. Errors: ServiceError INVALID (incomplete; a file was changed or is a link; format). */
export async function readManifest(backup: string): Promise<Manifest> {
  const manifest = parsed(backup);
  if (manifest.format !== FORMAT) {
    throw invalid(backup, `it has format ${manifest.format}, and this version reads ${FORMAT}`);
  }
  const folder = realpathSync(backup);
  for (const { path, bytes, sha256 } of manifest.files) {
    if (path.split('/').includes('..')) throw invalid(backup, `${path} is outside`);
    const found = await measured(backup, path).catch((error: unknown) => {
      if (isMissing(error)) throw invalid(backup, `${path} is missing`);
      throw error;
    });
    if (realpathSync(join(backup, path)) !== join(folder, path)) throw invalid(backup, `${path} is a link`);
    if (found.bytes !== bytes || found.sha256 !== sha256) throw invalid(backup, `${path} was changed`);
  }
  return manifest;
}

export async function measured(backup: string, path: string): Promise<BackedUpFile> {
  const file = join(backup, path);
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return { path, bytes: statSync(file).size, sha256: hash.digest('hex') };
}

function parsed(backup: string): Manifest {
  try {
    const manifest = JSON.parse(readFileSync(join(backup, MANIFEST), 'utf8'));
    if (Array.isArray(manifest?.files)) return manifest;
  } catch (error) {
    if (isMissing(error)) throw invalid(backup, `it has no ${MANIFEST}, which is written last`);
  }
  throw invalid(backup, `${MANIFEST} is damaged`);
}

const invalid = (backup: string, reason: string) =>
  new ServiceError('INVALID', `${backup} is not a complete backup: ${reason}`);
