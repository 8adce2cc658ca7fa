import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/**
 * Sets V8 flags that make the start shorter and save memory of an idle service. Call it before large modules load, and
 * `endStart` afterwards.
 */
export function beginStart(): void {
  // Most code of the start runs once. Optimising it took a sixth of the processor time of the start.
  setFlagsFromString('--no-opt');
  // Prisma's query compiler is WebAssembly, and its plans are cached: optimising it costs about 50 MB.
  setFlagsFromString('--no-wasm-tier-up');
  setFlagsFromString('--no-wasm-dynamic-tiering');
  // Most objects of the start stay alive. The young generation would grow to 32 MB for them and never shrink.
  setFlagsFromString('--semi-space-growth-factor=1');
  // Its threads wait for each other. With one processor or less that took a third of the time to connect to brokers.
  setFlagsFromString('--no-parallel-scavenge');
}

export function endStart(): void {
  setFlagsFromString('--opt');
  setFlagsFromString('--semi-space-growth-factor=2');
}

/**
 * With as many links the values below `$SYS` leave garbage all the time: by default the heap may grow to a multiple of
 * what is used before all of it is collected, and its young generation to 64 MB. With fewer, REST lists would take a
 * fifth more processor time.
 */
const MANY_LINKS = 100;
const MANY_YOUNG_BYTES = 16_000_000;
const GROWTH_PERCENT = 20;
/** While links connect, collecting the garbage would take more of the processor than connecting. */
const CONNECTING_GROWTH_PERCENT = 60;
function boundHeap(links: number, isConnecting: boolean): void {
  const isBounded = links >= MANY_LINKS;
  const percent = isConnecting ? CONNECTING_GROWTH_PERCENT : GROWTH_PERCENT;
  setFlagsFromString(`--heap-growing-percent=${isBounded ? percent : 0}`);
  setFlagsFromString(`--semi-space-growth-factor=${isBounded && youngBytes() > MANY_YOUNG_BYTES ? 1 : 2}`);
}

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0;

const CHECK_MS = 15_000;
const SHRINK_MS = 20_000;
/** The process has grown as much since memory was returned last. */
const GROWN = 1.25;
/** It grows no longer: from one check to the next. */
const STEADY = 1.02;

/**
 * Returns memory to the system after much work, such as connections to 1,000 brokers: about a fifth of the process. V8
 * itself does so only while nearly nothing is allocated, and so never in a process with many brokers. Not while links
 * connect: each garbage collection that returns memory blocks for up to two seconds with a quarter of a processor.
 * Returns a function that ends it.
 */
export function returnMemory(
  links: () => number,
  { isConnecting = (): boolean => false, checkMs = CHECK_MS, shrinkMs = SHRINK_MS } = {},
): () => void {
  let [returned, last] = [process.memoryUsage.rss(), 0];
  let shrinking: NodeJS.Timeout | null = null;
  const stopShrinking = () => {
    if (shrinking === null) return;
    setFlagsFromString('--no-optimize-for-size');
    clearTimeout(shrinking);
    shrinking = null;
  };
  const end = () => {
    stopShrinking();
    returned = process.memoryUsage.rss();
  };
  const bound = () => {
    boundHeap(links(), isConnecting());
    if (isConnecting()) stopShrinking();
  };
  bound();
  // Before the next collection, which at most doubles the young generation.
  const collections = new PerformanceObserver(bound);
  collections.observe({ entryTypes: ['gc'] });
  const timer = setInterval(() => {
    const rss = process.memoryUsage.rss();
    if (shrinking === null && !isConnecting() && rss > returned * GROWN && rss < last * STEADY) {
      setFlagsFromString('--optimize-for-size');
      shrinking = setTimeout(end, shrinkMs).unref();
    }
    last = rss;
  }, checkMs).unref();
  return () => {
    collections.disconnect();
    clearInterval(timer);
    stopShrinking();
  };
}
