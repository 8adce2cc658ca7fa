/**
 * The process that creates the load of `bench/embedded.ts`. It reads the processor time of the broker itself, exactly
 * at the start and the end of what it counts. The module runs in the load process with an IPC channel.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { cpuSeconds } from '../cpu-time.ts';
import { type ConnectTask, closeIdle, connectLoad, type IdleTask, idleLoad } from './connect-load.ts';
import { type PublishTask, publishLoad, type RetainTask, retainedReadLoad, retainLoad } from './publish-load.ts';

export interface Measured {
  readonly count: number;
  readonly seconds: number;
  /** Processor time of the broker process, with all its threads. */
  readonly cpuSeconds: number;
}

export type Task = { readonly pid: number } & (
  | ({ readonly kind: 'PUBLISH' } & PublishTask)
  | ({ readonly kind: 'RETAIN' } & RetainTask)
  | ({ readonly kind: 'READ_RETAINED' } & RetainTask)
  | ({ readonly kind: 'CONNECT' } & ConnectTask)
  | ({ readonly kind: 'IDLE' } & IdleTask)
  | { readonly kind: 'CLOSE_IDLE' }
);

export interface Load {
  readonly pid: number;
  run(task: Task): Promise<Measured>;
  close(): void;
}

export function startLoad(): Load {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), []);
  return {
    pid: child.pid ?? 0,
    close: () => child.kill('SIGKILL'),
    run: (task) =>
      new Promise((resolve, reject) => {
        const exited = () => reject(new Error(`The load ended during ${task.kind}`));
        child.once('exit', exited);
        child.once('message', (measured: Measured) => {
          child.off('exit', exited);
          resolve(measured);
        });
        child.send(task);
      }),
  };
}

async function measure(task: Task): Promise<Measured> {
  let from = 0;
  let seconds = 0;
  let cpu = 0;
  const begin = () => {
    cpu = cpuSeconds(task.pid);
    from = performance.now();
  };
  const end = () => {
    seconds = (performance.now() - from) / 1_000;
    cpu = cpuSeconds(task.pid) - cpu;
  };
  const count = await run(task, begin, end);
  return { count, seconds, cpuSeconds: cpu };
}

async function run(task: Task, begin: () => void, end: () => void): Promise<number> {
  switch (task.kind) {
    case 'PUBLISH':
      return publishLoad(task, begin, end);
    case 'RETAIN':
      return retainLoad(task, begin, end);
    case 'READ_RETAINED':
      return retainedReadLoad(task, begin, end);
    case 'CONNECT':
      return connectLoad(task, begin, end);
    case 'IDLE':
      return idleLoad(task, begin, end);
    case 'CLOSE_IDLE':
      await closeIdle();
      return 0;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('disconnect', () => process.exit(0));
  process.on('message', async (task: Task) => process.send?.(await measure(task)));
}
