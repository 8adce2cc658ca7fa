import { parentPort, workerData } from 'node:worker_threads';
import type { ServiceMessage, WorkerMessage, WorkerOptions } from '../worker-protocol.ts';

/** The service, as the worker that it started sees it. */
export interface ServicePort {
  readonly options: WorkerOptions;
  tell(message: WorkerMessage): void;
  onMessage(listener: (message: ServiceMessage) => void): void;
  /** Nothing is told or heard from here on, so that the worker ends when it has nothing left to do. */
  close(): void;
}

/** In a thread, or in a process that the service started. */
export const openServicePort = (): Promise<ServicePort> => (parentPort === null ? processPort() : threadPort());

async function threadPort(): Promise<ServicePort> {
  const port = parentPort;
  if (port === null) throw new Error('there is no thread that started this one');
  return {
    // What the service passes when it starts the thread.
    options: workerData as WorkerOptions,
    tell: (message) => port.postMessage(message),
    onMessage: (listener) => void port.on('message', listener),
    close: () => port.close(),
  };
}

async function processPort(): Promise<ServicePort> {
  if (!process.connected) throw new Error('a service has to start this');
  // The service is gone, or done with this: what was acknowledged is on disk.
  process.once('disconnect', () => process.exit());
  process.once('uncaughtException', (error) => {
    const failed: WorkerMessage = { type: 'failed', reason: error.message, stack: error.stack ?? '' };
    process.send?.(failed, () => process.exit(1));
  });
  const listeners: ((message: ServiceMessage) => void)[] = [];
  const started = new Promise<WorkerOptions>((resolve) => {
    process.on('message', (message: ServiceMessage) => {
      if (message.type === 'start') resolve(message.options);
      else for (const listener of listeners) listener(message);
    });
  });
  let told = 0;
  let isClosing = false;
  const end = () => {
    if (isClosing && told === 0 && process.connected) process.disconnect();
  };
  return {
    options: await started,
    tell: (message) => {
      if (!process.connected) return;
      told += 1;
      process.send?.(message, () => {
        told -= 1;
        end();
      });
    },
    onMessage: (listener) => void listeners.push(listener),
    close: () => {
      isClosing = true;
      end();
    },
  };
}
