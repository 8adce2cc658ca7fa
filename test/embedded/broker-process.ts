import { fork } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

export interface BrokerProcess {
  readonly url: string;
  readonly port: number;
  /** What was acknowledged before the broker ended; null otherwise (mqtt.js leaves some promises open when a socket ends). */
  whileAlive<T>(work: Promise<T>): Promise<T | null>;
  kill(): Promise<void>;
}

/** An embedded broker of the build in a process of its own, which is killed when the test ends, or before. `onPort` 0: any. */
export async function startBrokerProcess(folder: string, onPort = 0): Promise<BrokerProcess> {
  const child = fork(new URL('./broker-process.mjs', import.meta.url), [folder, String(onPort)], { execArgv: [] });
  const exited = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  onTestFinished(kill);
  const ready = once(child, 'message').then(([message]) => message as { port: number });
  const { port } = await Promise.race([ready, exited.then(() => Promise.reject(new Error('the broker ended')))]);
  const ended = exited.then(() => null);
  const whileAlive = <T>(work: Promise<T>) => Promise.race([work.catch(() => null), ended]);
  return { port, url: `mqtt://127.0.0.1:${port}`, kill, whileAlive };
}
