import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../database.ts';

/** Each fsync and fdatasync first waits for as many milliseconds as the file of FSYNC_DELAY_FILE says. */
const SOURCE = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void wait(void) {
  const char *name = getenv("FSYNC_DELAY_FILE");
  FILE *file = name ? fopen(name, "r") : NULL;
  int milliseconds = 0;
  if (file == NULL) return;
  if (fscanf(file, "%d", &milliseconds) == 1 && milliseconds > 0) usleep(milliseconds * 1000);
  fclose(file);
}

int fsync(int descriptor) {
  static int (*real)(int);
  if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  wait();
  return real(descriptor);
}

int fdatasync(int descriptor) {
  static int (*real)(int);
  if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  wait();
  return real(descriptor);
}
`;

interface SlowDisk {
  /** Environment of the program whose disk can become slow. */
  readonly env: Readonly<Record<string, string>>;
  /** How long each flush to the disk takes in addition. 0: as it is. */
  setDelay(milliseconds: number): void;
}

/** A library that delays flushes to the disk, preloaded in a program of any user. Needs a C compiler. */
export function slowDisk(): SlowDisk {
  const folder = temporaryFolder();
  chmodSync(folder, 0o755);
  const [source, library, delay] = ['slow.c', 'slow.so', 'delay'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(source, SOURCE);
  execFileSync('gcc', ['-shared', '-fPIC', '-o', library, source, '-ldl']);
  const setDelay = (milliseconds: number) => writeFileSync(delay, String(milliseconds));
  setDelay(0);
  return { env: { LD_PRELOAD: library, FSYNC_DELAY_FILE: delay }, setDelay };
}
