import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, statfsSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './database.ts';
import { onTestFinished } from './shared.ts';

/** Why a test cannot mount a disk of its own; `null` if it can. */
export const noSmallDisk: string | null =
  process.platform !== 'linux' || process.getuid?.() !== 0 ? 'only root may mount a file system on Linux' : null;

interface SmallDisk {
  readonly folder: string;
  readonly freeBytes: number;
  /** Fills the disk except for this number of bytes. Default: 0. */
  fill(except?: number): void;
  /** Frees what `fill` used. */
  free(): void;
}

/** A file system in memory of this size, which is unmounted after the test. */
export function smallDisk(megabytes: number): SmallDisk {
  const folder = temporaryFolder();
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0700`, 'brokergraph-test', folder]);
  onTestFinished(() => execFileSync('umount', ['--lazy', folder]));
  const filler = join(folder, 'filler');
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  };
  const block = Buffer.alloc(65_536);
  return {
    folder,
    get freeBytes() {
      return freeBytes();
    },
    fill: (except = 0) => {
      const file = openSync(filler, 'a');
      try {
        for (let left = freeBytes() - except; left > 0; left = freeBytes() - except) {
          writeSync(file, block, 0, Math.min(block.length, left));
        }
      } finally {
        closeSync(file);
      }
    },
    free: () => {
      truncateSync(filler, 0);
      rmSync(filler);
    },
  };
}
