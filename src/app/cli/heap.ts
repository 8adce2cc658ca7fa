import { setFlagsFromString } from 'node:v8';

/**
 * Settings of V8 that keep an idle service small and cost a busy one nothing. `holdHeap` before anything large is loaded,
 * `releaseHeap` when the start is done.
 */
export function holdHeap(): void {
  // Prisma's query compiler is WebAssembly, and its plans are kept: optimising it costs some 50 MB for work that is hardly ever done
  // again.
  setFlagsFromString('--no-wasm-tier-up');
  setFlagsFromString('--no-wasm-dynamic-tiering');
  // Most of what a start makes stays. The young generation would grow to 32 MB for it and keep that; now it waits for load.
  setFlagsFromString('--semi-space-growth-factor=1');
}

export function releaseHeap(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
}
